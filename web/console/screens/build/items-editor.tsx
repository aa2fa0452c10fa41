import { Anchor, ArrowDown, ArrowUp, GitBranch, Plus, X } from 'lucide-react';
import { type KeyboardEvent, memo, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { readable } from '../../../../src/domain/path/placeholders.ts';
import { useListedKeys } from '../../app/keys.tsx';
import { WordingLine } from '../../conditions/wording-field.tsx';
import type { Item } from '../../data/questions.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Switch } from '../../parts/choice-fields.tsx';
import styles from './build.module.css';
import { newItemId } from './draft.ts';

interface ItemsEditorProps {
  /** What one of them is called: option, row, column. */
  noun: string;
  items: readonly Item[];
  onChange(items: Item[]): void;
  isReadOnly: boolean;
  /** Only the labels can change. */
  isFixed?: boolean;
  keyOf(id: string): string;
  /** What the service says about one of them. */
  problemOf(index: number, field: string): string | undefined;
  /** Opens the conditions of an item. */
  onCondition(item: Item): void;
}

const noKeys: [] = [];

const title = (noun: string) => noun.charAt(0).toUpperCase() + noun.slice(1);

/** The text of a new item: with the number after those of all items, further on where an item has that text. */
function newText(noun: string, items: readonly Item[]): string {
  const taken = new Set(items.map(({ text }) => text));
  let number = items.length + 1;
  while (taken.has(`${title(noun)} ${number}`)) number += 1;
  return `${title(noun)} ${number}`;
}

/** The options of a question or the rows of a matrix. Enter adds one below, Alt with arrows moves one. */
export function ItemsEditor(props: ItemsEditorProps) {
  const { noun, items, onChange, isReadOnly, isFixed = false, keyOf, problemOf, onCondition } = props;
  const canArrange = !isReadOnly && !isFixed;
  const keys = useMemo(
    () => [
      { key: 'Enter', title: `Add another ${noun} below` },
      { key: 'Alt ↑ ↓', title: `Move the ${noun}` },
    ],
    [noun],
  );
  useListedKeys(canArrange ? keys : noKeys);
  const [showsValues, setShowsValues] = useState(false);
  const list = useRef<HTMLOListElement>(null);
  const [focused, setFocused] = useState<string>();

  useEffect(() => {
    if (focused === undefined) return;
    const input = list.current?.querySelector<HTMLInputElement>(`[data-item="${focused}"] input`);
    input?.focus();
    input?.select();
    setFocused(undefined);
  }, [focused]);

  const change = (index: number, changes: Partial<Item>) =>
    onChange(items.map((item, at) => (at === index ? { ...item, ...changes } : item)));
  const add = (index: number) => {
    const id = newItemId();
    onChange(items.toSpliced(index, 0, { id, text: newText(noun, items) }));
    setFocused(id);
  };
  const move = (index: number, to: number) => {
    const item = items[index];
    if (!item || to < 0 || to >= items.length) return;
    onChange(items.toSpliced(index, 1).toSpliced(to, 0, item));
    setFocused(keyOf(item.id));
  };
  const remove = (index: number) => {
    onChange(items.toSpliced(index, 1));
    const next = items[index + 1] ?? items[index - 1];
    if (next) setFocused(keyOf(next.id));
  };
  const onKeyDown = (event: KeyboardEvent, index: number) => {
    if (!canArrange) return;
    // While a word is composed, as in Japanese, Enter ends the word.
    const isEnter = event.key === 'Enter' && !event.nativeEvent.isComposing;
    if (event.altKey && event.key === 'ArrowUp') move(index, index - 1);
    else if (event.altKey && event.key === 'ArrowDown') move(index, index + 1);
    else if (isEnter && event.target instanceof HTMLInputElement) add(index + 1);
    else return;
    event.preventDefault();
  };
  // The rows get the same functions every time, so that only those whose item has changed are drawn anew.
  const latest = useRef<ItemActions>(null);
  useLayoutEffect(() => {
    latest.current = { change, move, remove, onKeyDown, onCondition };
  });
  const [actions] = useState<ItemActions>(() => ({
    change: (...given) => latest.current?.change(...given),
    move: (...given) => latest.current?.move(...given),
    remove: (...given) => latest.current?.remove(...given),
    onKeyDown: (...given) => latest.current?.onKeyDown(...given),
    onCondition: (...given) => latest.current?.onCondition(...given),
  }));

  return (
    <section className={styles.part} aria-label={`${title(noun)}s`}>
      <header className={styles.partHead}>
        <h3>{title(noun)}s</h3>
        <Switch isSelected={showsValues} onChange={setShowsValues}>
          Show values
        </Switch>
      </header>
      <ol ref={list} className={styles.items}>
        {items.map((item, index) => (
          <ItemRow
            key={keyOf(item.id)}
            itemKey={keyOf(item.id)}
            noun={noun}
            item={item}
            index={index}
            isLast={index === items.length - 1}
            showsValue={showsValues}
            isReadOnly={isReadOnly}
            isFixed={isFixed}
            textProblem={problemOf(index, 'text')}
            valueProblem={problemOf(index, 'value')}
            actions={actions}
          />
        ))}
      </ol>
      {canArrange && (
        <Button look="quiet" icon={<Plus aria-hidden />} onPress={() => add(items.length)}>
          Add {noun}
        </Button>
      )}
    </section>
  );
}

interface ItemActions {
  change(index: number, changes: Partial<Item>): void;
  move(index: number, to: number): void;
  remove(index: number): void;
  onKeyDown(event: KeyboardEvent, index: number): void;
  onCondition(item: Item): void;
}

interface ItemRowProps {
  itemKey: string;
  noun: string;
  item: Item;
  index: number;
  isLast: boolean;
  showsValue: boolean;
  isReadOnly: boolean;
  isFixed: boolean;
  textProblem: string | undefined;
  valueProblem: string | undefined;
  actions: ItemActions;
}

const ItemRow = memo(function ItemRow(props: ItemRowProps) {
  const { itemKey, noun, item, index, isLast, showsValue, isReadOnly, isFixed, actions } = props;
  const name = readable(item.text);
  return (
    <li data-item={itemKey} className={styles.item} onKeyDown={(event) => actions.onKeyDown(event, index)}>
      <WordingLine
        label={`${title(noun)} ${index + 1}`}
        isLabelHidden
        value={item.text}
        onChange={(text) => actions.change(index, { text })}
        maxLength={500}
        dir="auto"
        isReadOnly={isReadOnly}
        error={props.textProblem}
      />
      {showsValue && (
        <WordingLine
          label={`Value of ${noun} ${index + 1}`}
          isLabelHidden
          value={item.value ?? ''}
          placeholder="Made of the text"
          onChange={(value) => actions.change(index, { value })}
          maxLength={200}
          isReadOnly={isReadOnly || isFixed}
          error={props.valueProblem}
        />
      )}
      {!isReadOnly && !isFixed && (
        <span className={styles.itemButtons}>
          <ItemMark
            isOn={item.visibleIf != null}
            label={`Condition of ${name}`}
            icon={<GitBranch aria-hidden />}
            onPress={() => actions.onCondition(item)}
          />
          <ItemMark
            isOn={item.isAnchored === true}
            isToggle
            label={`Keep ${name} in its place when shuffled`}
            icon={<Anchor aria-hidden />}
            onPress={() => actions.change(index, { isAnchored: item.isAnchored !== true })}
          />
          <IconButton
            label={`Move ${name} up`}
            icon={<ArrowUp aria-hidden />}
            isDisabled={index === 0}
            onPress={() => actions.move(index, index - 1)}
          />
          <IconButton
            label={`Move ${name} down`}
            icon={<ArrowDown aria-hidden />}
            isDisabled={isLast}
            onPress={() => actions.move(index, index + 1)}
          />
          <IconButton
            label={`Remove ${name}`}
            icon={<X aria-hidden />}
            isDisabled={isLast && index === 0}
            onPress={() => actions.remove(index)}
          />
        </span>
      )}
    </li>
  );
});

interface ItemMarkProps {
  isOn: boolean;
  isToggle?: boolean;
  label: string;
  icon: React.ReactNode;
  onPress(): void;
}

/** A button that shows whether something is set on an item; a dot beside the icon says so without colour. */
function ItemMark({ isOn, isToggle, label, icon, onPress }: ItemMarkProps) {
  return (
    <span className={isOn ? styles.on : undefined}>
      <IconButton
        label={isOn && !isToggle ? `${label} (set)` : label}
        icon={icon}
        onPress={onPress}
        {...(isToggle && { 'aria-pressed': isOn })}
      />
    </span>
  );
}
