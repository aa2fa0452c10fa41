import { useLayoutEffect, useReducer } from 'preact/hooks';
import type { PageState } from '../../../src/http/page-state.ts';
import type { Session } from '../survey/session.ts';
import { useIsReady } from '../use-is-ready.ts';
import type { Words } from '../words/en.ts';
import { Form } from './form.tsx';
import { Notice } from './notice.tsx';

interface AppProps {
  state: PageState;
  words: Words;
  /** Undefined where there is nothing to answer. */
  session: Session | undefined;
  surveyToken?: string | undefined;
  /** Address of this page with its tokens, in another language if one is named. */
  addressIn?: ((language?: string) => string) | undefined;
}

export function App({ state, words, session, surveyToken, addressIn }: AppProps) {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  // At once, not after the next frame: what was kept on the device may come before that.
  useLayoutEffect(() => session?.onChange(() => redraw(undefined)), [session]);
  const title = session?.shown.title ?? state.title;
  const notice = session?.notice ?? state.notice;
  const logo = state.form?.survey.appearance.logo;
  return (
    <div class="page">
      <header class="head">
        {logo && <img class="logo" src={logo.url} width={logo.width} height={logo.height} alt="" />}
        {state.languages.length > 1 && !notice && (
          <Languages state={state} label={words.language} addressIn={addressIn} />
        )}
      </header>
      {notice ? (
        <Notice
          name={notice}
          words={words}
          title={title}
          closingText={session?.shown.closingText ?? null}
          addressIn={addressIn}
          isReplacing={session?.notice !== undefined}
        />
      ) : (
        session && <Form session={session} surveyToken={surveyToken} again={searchIn(state.language, state.query)} />
      )}
      <noscript>
        <p class="banner">{words.noScript}</p>
      </noscript>
    </div>
  );
}

/** The end of this page's address in a language, for links that work without the script. */
const searchIn = (language: string, query: string): string =>
  `?${query === '' ? '' : `${query}&`}lang=${encodeURIComponent(language)}`;

/** A link that is pressed with such a key is for the browser to open in another tab or window. */
const opensElsewhere = ({ ctrlKey, metaKey, shiftKey }: MouseEvent): boolean => ctrlKey || metaKey || shiftKey;

const middleButton = 1;

/** Gives a link another address for this press only: with tokens, which do not stand in the one that it shows. */
function leadTo(link: HTMLAnchorElement, address: string, shown: string): void {
  link.href = address;
  setTimeout(() => link.setAttribute('href', shown));
}

/**
 * The languages of the survey, each by its own name. Until the script takes over, their links carry the tokens and all
 * else that stands in the address.
 */
function Languages({ state, label, addressIn }: Pick<AppProps, 'state' | 'addressIn'> & { label: string }) {
  const isReady = useIsReady();
  return (
    <nav class="languages" aria-label={label}>
      {state.languages.map((language) => (
        <a
          key={language}
          href={searchIn(language, isReady ? '' : state.query)}
          lang={language}
          hreflang={language}
          aria-current={language === state.language ? 'true' : undefined}
          onClick={(event) => {
            if (!addressIn) return;
            if (opensElsewhere(event)) leadTo(event.currentTarget, addressIn(language), searchIn(language, ''));
            // With Alt the browser may save what the link leads to: no token is for its list of downloads.
            else if (!event.altKey) {
              event.preventDefault();
              location.assign(addressIn(language));
            }
          }}
          onAuxClick={({ button, currentTarget }) => {
            if (addressIn && button === middleButton)
              leadTo(currentTarget, addressIn(language), searchIn(language, ''));
          }}
        >
          {nameOf(language)}
        </a>
      ))}
    </nav>
  );
}

function nameOf(language: string): string {
  try {
    return new Intl.DisplayNames([language], { type: 'language' }).of(language) ?? language;
  } catch {
    return language;
  }
}
