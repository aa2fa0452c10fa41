import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { Autocomplete } from 'react-aria-components/Autocomplete';
import { Menu } from 'react-aria-components/Menu';
import { problemText } from '../data/problems.ts';
import { surveyListQuery } from '../data/surveys.ts';
import { Dialog } from '../parts/dialog.tsx';
import { FormError } from '../parts/feedback.tsx';
import { MenuItem } from '../parts/menu.tsx';
import { SearchField } from '../parts/text-fields.tsx';
import { usePaused } from '../parts/use-paused.ts';
import { placesOf } from './navigation.ts';
import { useUser } from './session-state.tsx';
import styles from './shell.module.css';

const mostShown = 20;
/** More than are shown: of these, newest first, the ones with fitting titles come first. */
const mostFound = 100;

/** Goes to a place of the console or to a survey: type a part of its name, choose with the arrow keys and Enter. */
export function CommandPalette({ onClose }: { onClose(): void }) {
  const router = useRouter();
  const user = useUser();
  const [text, setText] = useState('');
  const search = text.trim();
  const asked = usePaused(search);
  const {
    data: surveys,
    failureReason,
    fetchStatus,
    isPlaceholderData,
  } = useQuery(surveyListQuery({ page: 1, limit: mostFound, ...(asked !== '' && { search: asked }) }));
  // Without a network it is not tried at all; after a refusal for now it is tried again, which may take long.
  const failure = fetchStatus === 'paused' ? new TypeError('there is no network') : failureReason;
  const isFound = asked === search && surveys !== undefined && !isPlaceholderData;
  const wanted = search.toLowerCase();
  const isWanted = ({ title }: { title: string }) => title.toLowerCase().includes(wanted);
  const targets = [
    ...placesOf(user)
      .filter(isWanted)
      .map(({ path, title }) => ({ href: path, title })),
    // The service searches descriptions as well. Until its reply is there, those of the last one stay whose titles fit.
    ...(surveys?.items ?? [])
      .filter((survey) => isFound || isWanted(survey))
      .toSorted((one, other) => Number(isWanted(other)) - Number(isWanted(one)))
      .slice(0, mostShown)
      .map(({ id, title }) => ({ href: `/surveys/${id}`, title })),
  ];
  const go = (href: string) => {
    onClose();
    void router.navigate({ href });
  };
  return (
    <Dialog title="Go to" isOpen onClose={onClose}>
      <Autocomplete inputValue={text} onInputChange={setText}>
        <SearchField label="A place or a survey" value={text} onChange={setText} autoFocus />
        <Menu
          aria-label="Places and surveys"
          className={styles.commands}
          renderEmptyState={() => (isFound ? 'Nothing fits.' : failure ? null : 'Searching …')}
        >
          {targets.map(({ href, title }) => (
            <MenuItem key={href} onAction={() => go(href)}>
              {title}
            </MenuItem>
          ))}
        </Menu>
        {failure !== null && !isFound && <FormError>{problemText(failure).text}</FormError>}
      </Autocomplete>
    </Dialog>
  );
}
