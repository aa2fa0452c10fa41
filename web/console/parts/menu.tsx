import { type ReactElement, type ReactNode, useEffect, useState } from 'react';
import { Menu as AriaMenu, MenuItem as AriaMenuItem, MenuTrigger } from 'react-aria-components/Menu';
import { Popover } from 'react-aria-components/Popover';
import { Separator } from 'react-aria-components/Separator';
import { cx } from './cx.ts';
import styles from './overlay.module.css';

interface MenuProps {
  label: string;
  button: ReactElement;
  /** Its button was pressed while the menu was still being loaded. */
  isOpenAtFirst?: boolean;
  children: ReactNode;
}

/** A menu that opens at a button: `<Menu label="…" button={<IconButton …/>}>` with MenuItems in it. */
export function Menu({ label, button, isOpenAtFirst = false, children }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    // Not before the button is there: it gets the focus back when the menu closes.
    if (isOpenAtFirst) setOpen(true);
  }, [isOpenAtFirst]);
  return (
    <MenuTrigger isOpen={isOpen} onOpenChange={setOpen}>
      {button}
      <Popover className={styles.popover} placement="bottom end">
        <AriaMenu aria-label={label} className={styles.list}>
          {children}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  );
}

interface MenuItemProps {
  children: ReactNode;
  icon?: ReactNode;
  onAction?(): void;
  href?: string;
  isDisabled?: boolean;
  isDangerous?: boolean;
  /** The text for type-ahead where `children` is no string. */
  textValue?: string;
}

export function MenuItem({ children, icon, isDangerous, textValue, ...props }: MenuItemProps) {
  return (
    <AriaMenuItem
      {...props}
      textValue={textValue ?? (typeof children === 'string' ? children : undefined)}
      className={cx(styles.item, isDangerous && styles.danger)}
    >
      {icon}
      {children}
    </AriaMenuItem>
  );
}

export const MenuSeparator = () => <Separator className={styles.separator} />;
