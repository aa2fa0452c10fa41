import { scaleOf } from '../../../src/domain/path/question-shape.ts';
import { pointAt, pointCount } from '../../../src/domain/path/scale-points.ts';
import { numberFormat } from '../words/say.ts';
import type { ControlProps, PageType } from './contract.ts';
import { idList } from './id-list.ts';

/** More points than this do not fit side by side on a phone, even in rows. */
const maxButtons = 21;

/**
 * One button for each point, as a group of radio buttons. Texts of its ends name their points, which may stand in
 * several rows.
 */
function Points(props: ControlProps & { ends?: readonly [string, string] }) {
  const { question, entry, change, controlId, describedBy, isInvalid, language, ends } = props;
  const scale = scaleOf(question.settings);
  const count = pointCount(scale);
  if (count > maxButtons) return <Slider {...props} />;
  const format = numberFormat(language);
  const points = Array.from({ length: count }, (_, index) => pointAt(scale, index));
  const endIds =
    ends &&
    new Map([
      [0, `${controlId}-low`],
      [count - 1, `${controlId}-high`],
    ]);
  return (
    <>
      <div class="points">
        {points.map((point, index) => (
          <label class="point" key={point}>
            <input
              type="radio"
              id={index === 0 ? controlId : undefined}
              name={question.id}
              checked={entry.answers[0]?.numberValue === point}
              aria-invalid={isInvalid || undefined}
              aria-describedby={idList(index === 0 && describedBy, endIds?.get(index))}
              onChange={() => change({ answers: [{ numberValue: point }] })}
            />
            <span class="point-text">{format(point)}</span>
          </label>
        ))}
      </div>
      {ends && (
        <p class="ends">
          {[0, count - 1].map((index, side) => (
            <span id={endIds?.get(index)} key={index}>
              {`${format(pointAt(scale, index))} – ${ends[side]}`}
            </span>
          ))}
        </p>
      )}
    </>
  );
}

export const ratingScale: PageType = { Control: Points, isField: false };

export const nps: PageType = {
  Control: (props) => <Points {...props} ends={[props.words.unlikely, props.words.likely]} />,
  isField: false,
};

/** A slider with its number. Until it is moved or pressed there is no answer. */
function Slider({
  question,
  entry,
  change,
  controlId,
  labelId,
  describedBy,
  isInvalid,
  language,
  words,
}: ControlProps) {
  const scale = scaleOf(question.settings);
  const last = pointCount(scale) - 1;
  const value = entry.answers[0]?.numberValue;
  const format = numberFormat(language);
  // The range counts points, so that rounding of steps such as 0.1 never leaves the scale.
  const index = value === undefined ? Math.floor(last / 2) : Math.round((value - scale.min) / scale.step);
  const take = (text: string) => change({ answers: [{ numberValue: pointAt(scale, Number(text)) }] });
  return (
    <div class="slider" data-empty={value === undefined || undefined}>
      <output class="slider-value" for={controlId}>
        {value === undefined ? '–' : format(value)}
      </output>
      <input
        type="range"
        id={controlId}
        name={question.id}
        min={0}
        max={last}
        step={1}
        value={index}
        aria-labelledby={labelId}
        aria-describedby={describedBy}
        aria-invalid={isInvalid || undefined}
        aria-valuetext={value === undefined ? words.notAnswered : format(value)}
        onInput={(event) => take(event.currentTarget.value)}
        onPointerUp={(event) => take(event.currentTarget.value)}
        onKeyUp={(event) => {
          // Enter goes on, as in every field; its key may come up here when it was pressed elsewhere.
          if (event.key === ' ') take(event.currentTarget.value);
        }}
      />
      <p class="ends">
        <span>{format(scale.min)}</span>
        <span>{format(pointAt(scale, last))}</span>
      </p>
    </div>
  );
}

export const slider: PageType = { Control: Slider, isField: true };
