import type { ReactNode } from 'react';
import { Tabs as AriaTabs, Tab, TabList, TabPanel } from 'react-aria-components/Tabs';
import styles from './page.module.css';

export interface TabsProps<Key extends string> {
  label: string;
  tabs: readonly { id: Key; title: string; content: ReactNode }[];
  selected: Key;
  onSelect(id: Key): void;
}

/** Views of one thing in one place. Keep `selected` in the address where a link to it is useful. */
export function Tabs<Key extends string>({ label, tabs, selected, onSelect }: TabsProps<Key>) {
  return (
    <AriaTabs selectedKey={selected} onSelectionChange={(key) => onSelect(String(key) as Key)}>
      <TabList aria-label={label} className={styles.tabs}>
        {tabs.map(({ id, title }) => (
          <Tab key={id} id={id} className={styles.tab}>
            {title}
          </Tab>
        ))}
      </TabList>
      {tabs.map(({ id, content }) => (
        <TabPanel key={id} id={id} className={styles.panel}>
          {content}
        </TabPanel>
      ))}
    </AriaTabs>
  );
}
