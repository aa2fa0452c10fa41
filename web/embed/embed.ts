import { createFrame, type FrameOptions } from './frame.ts';
import { createPopup } from './popup.ts';

/** `<script src="https://HOST/embed.js" data-survey="LINK">`: a survey in a page of another site. */

const metadataPrefix = 'data-metadata-';

/** Address of the respondent's page, with what the attributes say of the respondent. */
function addressOf(script: HTMLScriptElement, survey: string): URL {
  const address = new URL(`/s/${encodeURIComponent(survey)}`, script.src);
  const { surveyToken, language, invitation } = script.dataset;
  if (surveyToken) address.searchParams.set('surveyToken', surveyToken);
  if (language) address.searchParams.set('lang', language);
  if (invitation) address.searchParams.set('invitation', invitation);
  for (const { name, value } of script.attributes)
    if (name.startsWith(metadataPrefix) && value !== '')
      address.searchParams.set(`metadata.${name.slice(metadataPrefix.length)}`, value);
  return address;
}

/** An element in the page: at `data-target`, else where the script stands. */
function placeContainer(script: HTMLScriptElement, survey: string): HTMLElement {
  const container = document.createElement('div');
  container.dataset['surveyFrame'] = survey;
  const target = script.dataset['target'] ? document.querySelector(script.dataset['target']) : null;
  if (target) target.append(container);
  else if (document.body.contains(script)) script.after(container);
  else document.body.append(container);
  return container;
}

function embed(script: HTMLScriptElement, survey: string): void {
  const { mode = 'inline', title = 'Survey' } = script.dataset;
  const container = placeContainer(script, survey);
  const nothing = (): void => undefined;
  const options: FrameOptions = {
    address: addressOf(script, survey),
    title,
    container,
    survey,
    onHeight: nothing,
    onPage: nothing,
    onEscape: nothing,
  };
  if (mode === 'popup') embedPopup(script, options);
  else if (mode === 'full') embedFull(options);
  else embedInline(options);
}

function embedInline(options: FrameOptions): void {
  const frame = createFrame({
    ...options,
    onHeight: (height) => Object.assign(frame.style, { height: `${height}px` }),
    // The frame is as high as its content, so it cannot scroll to the top of a new page itself.
    onPage: () => {
      if (frame.getBoundingClientRect().top < 0) frame.scrollIntoView({ block: 'start' });
    },
  });
  Object.assign(frame.style, { display: 'block', width: '100%', height: '24rem', border: '0' });
  options.container.append(frame);
}

/** The frame covers the page, and scrolls itself. */
function embedFull(options: FrameOptions): void {
  const frame = createFrame(options);
  Object.assign(frame.style, {
    position: 'fixed',
    inset: '0',
    width: '100%',
    height: '100%',
    border: '0',
    zIndex: '2147483647',
  });
  const isStill = isCovered();
  frame.dataset['surveyFull'] = '';
  options.container.append(frame);
  if (!isStill) keepStillWhileCovered();
}

const isCovered = (): boolean => document.querySelector('iframe[data-survey-full]') !== null;

/**
 * Keeps the page around from being scrolled while a frame covers it, also one of another run of this script. The page
 * may remove frames at any time; what it says itself of its scrolling meanwhile stays. No style sheet is made for it:
 * older browsers refuse that, and the page may replace its list of them.
 */
function keepStillWhileCovered(): void {
  const { style } = document.documentElement;
  const before = ['overflow-x', 'overflow-y'].map((name) => ({
    name,
    value: style.getPropertyValue(name),
    priority: style.getPropertyPriority(name),
  }));
  for (const { name } of before) style.setProperty(name, 'hidden', 'important');
  const observer = new MutationObserver(() => {
    if (isCovered()) return;
    observer.disconnect();
    for (const { name, value, priority } of before)
      if (style.getPropertyPriority(name) === 'important') style.setProperty(name, value, priority);
  });
  observer.observe(document, { childList: true, subtree: true });
}

function embedPopup(script: HTMLScriptElement, options: FrameOptions): void {
  const { container, title, survey } = options;
  const { button = 'Take the survey', close = 'Close', open } = script.dataset;
  const popup = createPopup({
    root: container.attachShadow({ mode: 'open' }),
    title,
    buttonText: button,
    closeText: close,
    openers: open ? [...document.querySelectorAll<HTMLElement>(open)] : [],
    createFrame: () =>
      createFrame({
        ...options,
        onHeight: (height) => popup.setHeight(height),
        onEscape: () => popup.close(),
      }),
    onToggle: (isOpen) =>
      container.dispatchEvent(
        new CustomEvent(isOpen ? 'survey:open' : 'survey:close', { bubbles: true, detail: { survey } }),
      ),
  });
}

const script = document.currentScript;
const survey = script?.dataset['survey'];
if (script instanceof HTMLScriptElement && survey) {
  // What `data-target` and `data-open` name may stand behind the script.
  if (document.readyState === 'loading') addEventListener('DOMContentLoaded', () => embed(script, survey));
  else embed(script, survey);
}
