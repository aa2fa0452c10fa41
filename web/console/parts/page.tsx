import { Check, ChevronRight, Copy } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { Button as AriaButton } from 'react-aria-components/Button';
import { Disclosure as AriaDisclosure, DisclosurePanel } from 'react-aria-components/Disclosure';
import { Heading } from 'react-aria-components/Heading';
import { Button, type ButtonLook } from './button.tsx';
import { cannotCopy, copyText } from './copy-text.ts';
import { FormError } from './feedback.tsx';
import styles from './page.module.css';

export { Tabs, type TabsProps } from './tabs.tsx';

interface PageProps {
  title: string;
  /** Beside the title, such as a Badge. */
  status?: ReactNode;
  /** Buttons at the end of the head. */
  actions?: ReactNode;
  /** Below the title, such as links to other views. */
  tabs?: ReactNode;
  children: ReactNode;
}

/** The frame of a screen: title (also of the browser's tab and of the content around it), actions, content. */
export function Page({ title, status, actions, tabs, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Surveys`;
  }, [title]);
  return (
    <>
      <header className={styles.head}>
        <h1 id="view-title" dir="auto">
          {title}
        </h1>
        {status}
        <div className={styles.actions}>{actions}</div>
      </header>
      {tabs}
      <div className={styles.content}>{children}</div>
    </>
  );
}

/** A surface of its own on a page. */
export function Card({ title, actions, children }: { title?: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className={styles.card}>
      {(title !== undefined || actions !== undefined) && (
        <header className={styles.cardHead}>
          <h2>{title}</h2>
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}

/** A row of controls above a list or chart. */
export const Toolbar = ({ children }: { children: ReactNode }) => <div className={styles.toolbar}>{children}</div>;

interface DisclosureProps {
  title: string;
  /** Of its heading. */
  level?: 2 | 3;
  children: ReactNode;
}

/** A part that opens below its title. */
export function Disclosure({ title, level = 3, children }: DisclosureProps) {
  return (
    <AriaDisclosure className={styles.disclosure}>
      <Heading level={level}>
        <AriaButton slot="trigger" className={styles.trigger}>
          <ChevronRight aria-hidden />
          {title}
        </AriaButton>
      </Heading>
      <DisclosurePanel className={styles.disclosed}>{children}</DisclosurePanel>
    </AriaDisclosure>
  );
}

/** Copies a text and says so, or that the browser refused it. */
export function CopyButton({
  text,
  children = 'Copy',
  look,
  onCopied,
}: {
  text: string;
  children?: ReactNode;
  look?: ButtonLook;
  onCopied?: (() => void) | undefined;
}) {
  const [result, setResult] = useState<'copied' | 'refused'>();
  useEffect(() => {
    if (result !== 'copied') return;
    const timer = setTimeout(() => setResult(undefined), 2000);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = async () => {
    const isCopied = await copyText(text);
    setResult(isCopied ? 'copied' : 'refused');
    if (isCopied) onCopied?.();
  };
  const isCopied = result === 'copied';
  return (
    <>
      <Button look={look ?? 'normal'} icon={isCopied ? <Check aria-hidden /> : <Copy aria-hidden />} onPress={copy}>
        <span aria-live="polite">{isCopied ? 'Copied' : children}</span>
      </Button>
      {result === 'refused' && <FormError>{cannotCopy} Please select the text and copy it.</FormError>}
    </>
  );
}
