import { useRef, useState } from 'preact/hooks';
import { joinedAnswers } from '../survey/entries.ts';
import type { ShownItem, ShownQuestion } from '../survey/pages.ts';
import { useIsReady } from '../use-is-ready.ts';
import { say } from '../words/say.ts';
import type { ControlProps, PageType } from './contract.ts';
import { useKeptFocus } from './kept-focus.ts';

/** How many items can be ranked. */
const mostOf = ({ settings: { maxRanked }, options }: ShownQuestion): number =>
  typeof maxRanked === 'number' ? Math.min(maxRanked, options.length) : options.length;

/** The ranked items by drag, by buttons or by the arrow keys; below them those that are not ranked yet. */
function Ranking({ question, entry, change, words, controlId, describedBy, isInvalid }: ControlProps) {
  const list = useRef<HTMLOListElement>(null);
  const [dragged, setDragged] = useState<string>();
  const [spoken, setSpoken] = useState('');
  const isReady = useIsReady();
  const most = mostOf(question);
  /** The ranked item whose handle the focus goes to when the control that had it is gone. */
  const focusNext = useRef('');
  const byId = new Map(question.options.map((option) => [option.id, option]));
  const ranked = entry.answers.flatMap(({ optionId }) => byId.get(optionId ?? '') ?? []);
  const free = question.options.filter((option) => !ranked.includes(option));
  useKeptFocus(question.id, () => {
    const place = ranked.findIndex(({ id }) => id === focusNext.current);
    return list.current?.children[place]?.querySelector('.ranked-handle') ?? document.getElementById(controlId);
  });

  const take = (items: readonly ShownItem[], moved?: ShownItem) => {
    change({ answers: items.map(({ id }, index) => ({ optionId: id, rank: index + 1 })) });
    if (moved && items.includes(moved))
      setSpoken(say(words.rankedAt, { item: moved.text, n: items.indexOf(moved) + 1, m: items.length }));
  };
  const rank = (item: ShownItem) => {
    focusNext.current = item.id;
    take([...ranked, item], item);
  };
  const remove = (item: ShownItem, index: number) => {
    focusNext.current = (ranked[index + 1] ?? ranked[index - 1])?.id ?? '';
    take(ranked.filter((other) => other !== item));
  };
  const move = (item: ShownItem, to: number) => {
    const others = ranked.filter((other) => other !== item);
    const place = Math.max(0, Math.min(others.length, to));
    take([...others.slice(0, place), item, ...others.slice(place)], item);
  };
  const drag = (event: PointerEvent, item: ShownItem) => {
    if (dragged !== item.id || !list.current) return;
    const rows = [...list.current.children];
    const before = rows.filter((row, index) => {
      const { top, height } = row.getBoundingClientRect();
      return ranked[index] !== item && event.clientY > top + height / 2;
    });
    if (before.length !== ranked.indexOf(item)) move(item, before.length);
  };
  const keys = (event: KeyboardEvent, item: ShownItem, index: number) => {
    const steps: Readonly<Record<string, number>> = { ArrowUp: -1, ArrowDown: 1 };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    move(item, index + step);
  };

  return (
    <div class="ranking">
      {ranked.length > 0 && (
        <ol class="ranked" ref={list}>
          {ranked.map((item, index) => (
            <li class="ranked-item" key={item.id} data-dragged={dragged === item.id || undefined}>
              <button
                type="button"
                class="ranked-handle"
                aria-label={`${index + 1}. ${say(words.drag, { item: item.text })}`}
                onKeyDown={(event) => keys(event, item, index)}
                onPointerDown={(event) => {
                  event.currentTarget.setPointerCapture(event.pointerId);
                  setDragged(item.id);
                }}
                onPointerMove={(event) => drag(event, item)}
                onPointerUp={() => setDragged(undefined)}
                onPointerCancel={() => setDragged(undefined)}
              >
                <span class="ranked-place">{index + 1}</span>
              </button>
              <span class="ranked-text" dir="auto">
                {item.text}
              </span>
              <span class="ranked-buttons">
                <IconButton
                  label={say(words.moveUp, { item: item.text })}
                  icon="M4 10l4-4 4 4"
                  isOff={index === 0}
                  press={() => move(item, index - 1)}
                />
                <IconButton
                  label={say(words.moveDown, { item: item.text })}
                  icon="M4 6l4 4 4-4"
                  isOff={index === ranked.length - 1}
                  press={() => move(item, index + 1)}
                />
                <IconButton
                  label={say(words.remove, { item: item.text })}
                  icon="M4 4l8 8M12 4l-8 8"
                  press={() => remove(item, index)}
                />
              </span>
            </li>
          ))}
        </ol>
      )}
      {free.length > 0 && (
        <ul class="unranked">
          {free.map((item, index) => (
            <li key={item.id}>
              <button
                type="button"
                class="unranked-item"
                id={index === 0 ? controlId : undefined}
                aria-describedby={index === 0 ? describedBy : undefined}
                data-invalid={isInvalid || undefined}
                disabled={!isReady || ranked.length >= most}
                onClick={() => rank(item)}
              >
                <span class="unranked-place" aria-hidden="true" />
                <span dir="auto">{item.text}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <p class="hidden" aria-live="polite">
        {spoken}
      </p>
    </div>
  );
}

function IconButton({
  label,
  icon,
  isOff = false,
  press,
}: {
  label: string;
  /** Path of a drawing of 16 × 16 units. */
  icon: string;
  isOff?: boolean;
  press(): void;
}) {
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={label}
      aria-disabled={isOff}
      onClick={isOff ? undefined : press}
    >
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <path d={icon} fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" />
      </svg>
    </button>
  );
}

export const ranking: PageType = {
  Control: Ranking,
  isField: false,
  clearsItself: true,
  hint: ({ settings: { maxRanked }, options }, words) =>
    [
      words.rankHint,
      ...(typeof maxRanked === 'number' && maxRanked < options.length ? [say(words.rankAtMost, { n: maxRanked })] : []),
      words.rankMove,
    ].join(' '),
  join: (question, kept, early) => ({
    answers: joinedAnswers(kept.answers, early.answers)
      .slice(0, mostOf(question))
      .map((answer, index) => ({ ...answer, rank: index + 1 })),
  }),
};
