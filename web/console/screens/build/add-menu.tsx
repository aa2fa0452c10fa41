import { Plus, SquareDashed } from 'lucide-react';
import { Button as AriaButton } from 'react-aria-components/Button';
import { Header } from 'react-aria-components/Header';
import { Menu, MenuItem, MenuSection, MenuTrigger } from 'react-aria-components/Menu';
import { Popover } from 'react-aria-components/Popover';
import { questionTypeTitles } from '../../data/question-types.ts';
import type { QuestionTypeName } from '../../data/questions.ts';
import buttons from '../../parts/button.module.css';
import { cx } from '../../parts/cx.ts';
import overlay from '../../parts/overlay.module.css';
import styles from './build.module.css';
import { groups, typeNames, typeOf } from './question-types.ts';

interface AddMenuProps {
  isOpen: boolean;
  onOpenChange(isOpen: boolean): void;
  onAdd(type: QuestionTypeName): void;
  onAddSection(): void;
}

/** The button that adds a question of one of the types, or a section. */
export function AddMenu({ isOpen, onOpenChange, onAdd, onAddSection }: AddMenuProps) {
  return (
    <MenuTrigger isOpen={isOpen} onOpenChange={onOpenChange}>
      <AriaButton className={cx(buttons.button, buttons.primary)}>
        <Plus aria-hidden />
        Add
      </AriaButton>
      <Popover className={overlay.popover} placement="bottom start">
        <Menu aria-label="Add" autoFocus="first" className={cx(overlay.list, styles.types)}>
          {groups.map((group) => (
            <MenuSection key={group}>
              <Header className={styles.group}>{group}</Header>
              {typeNames
                .filter((name) => typeOf(name).group === group)
                .map((name) => {
                  const { icon: Icon } = typeOf(name);
                  const title = questionTypeTitles[name];
                  return (
                    <MenuItem
                      key={name}
                      id={name}
                      textValue={title}
                      className={overlay.item}
                      onAction={() => onAdd(name)}
                    >
                      <Icon aria-hidden />
                      {title}
                    </MenuItem>
                  );
                })}
            </MenuSection>
          ))}
          <MenuSection>
            <Header className={styles.group}>Pages</Header>
            <MenuItem id="section" textValue="Section" className={overlay.item} onAction={onAddSection}>
              <SquareDashed aria-hidden />
              Section
            </MenuItem>
          </MenuSection>
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}
