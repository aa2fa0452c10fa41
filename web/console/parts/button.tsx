import type { MouseEvent, ReactNode } from 'react';
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from 'react-aria-components/Button';
import { Link as AriaLink, type LinkProps as AriaLinkProps } from 'react-aria-components/Link';
import styles from './button.module.css';
import { cx } from './cx.ts';
import { Tooltip } from './tooltip.tsx';

/** primary: the one main action of a view; danger: cannot be undone; quiet: without a border. */
export type ButtonLook = 'primary' | 'normal' | 'danger' | 'quiet';

interface ButtonProps extends Omit<AriaButtonProps, 'className' | 'style' | 'children'> {
  look?: ButtonLook;
  icon?: ReactNode;
  children: ReactNode;
}

/**
 * `isPending` shows that the action runs and takes no second press; the focus stays. React Aria's own announcement of it
 * would outlive the button, without a name.
 */
export function Button({ look = 'normal', icon, children, isPending = false, ...props }: ButtonProps) {
  const { onPress, type = 'button', ...others } = props;
  return (
    <AriaButton
      {...others}
      {...(isPending ? { type: 'button', 'aria-disabled': true } : { type, ...(onPress && { onPress }) })}
      className={cx(styles.button, styles[look])}
    >
      {icon}
      <span>{children}</span>
    </AriaButton>
  );
}

/** As `onClickCapture` around buttons that act at once: the second click of a double-click does not press one again. */
export function ignoreSecondClick(event: MouseEvent): void {
  if (event.detail < 2) return;
  event.preventDefault();
  event.stopPropagation();
}

interface IconButtonProps extends Omit<AriaButtonProps, 'className' | 'style' | 'children'> {
  /** The name for screen readers, shown as a tooltip. */
  label: string;
  icon: ReactNode;
}

/** A button that shows an icon only. */
export function IconButton({ label, icon, ...props }: IconButtonProps) {
  return (
    <Tooltip text={label}>
      <AriaButton {...props} aria-label={label} className={cx(styles.button, styles.quiet, styles.icon)}>
        {icon}
      </AriaButton>
    </Tooltip>
  );
}

/** A button that looks like a link, within a line or a cell of a table. */
export function TextButton({ children, ...props }: Omit<ButtonProps, 'look' | 'icon'>) {
  return (
    <AriaButton {...props} className={styles.text}>
      {children}
    </AriaButton>
  );
}

interface LinkButtonProps extends Omit<AriaLinkProps, 'className' | 'style' | 'children'> {
  look?: ButtonLook;
  icon?: ReactNode;
  children: ReactNode;
}

/** A link that looks like a button. `href` is an address of the console or another one. */
export function LinkButton({ look = 'normal', icon, children, ...props }: LinkButtonProps) {
  return (
    <AriaLink {...props} className={cx(styles.button, styles[look])}>
      {icon}
      {children}
    </AriaLink>
  );
}
