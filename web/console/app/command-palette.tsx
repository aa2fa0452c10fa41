import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { Autocomplete } from 'react-aria-components/Autocomplete';
import { Menu } from 'react-aria-components/Menu';
import { surveyListQuery } from '../data/surveys.ts';
import { Dialog } from '../parts/dialog.tsx';
import { MenuItem } from '../parts/menu.tsx';
import { SearchField } from '../parts/text-fields.tsx';
import { placesOf } from './navigation.ts';
import { useUser } from './session-state.tsx';
import styles from './shell.module.css';

/** Goes to a place of the console or to a survey: type a part of its name, choose with the arrow keys and Enter. */
export function CommandPalette({ onClose }: { onClose(): void }) {
  const router = useRouter();
  const user = useUser();
  const [text, setText] = useState('');
  const search = text.trim();
  const { data: surveys } = useQuery(surveyListQuery({ page: 1, limit: 20, ...(search !== '' && { search }) }));
  const wanted = search.toLowerCase();
  const targets = [
    ...placesOf(user)
      .filter(({ title }) => title.toLowerCase().includes(wanted))
      .map(({ path, title }) => ({ href: path, title })),
    // While the surveys of a longer text are on their way, those of the shorter text stay; only what fits is offered.
    ...(surveys?.items ?? [])
      .filter(({ title }) => title.toLowerCase().includes(wanted))
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
        <Menu aria-label="Places and surveys" className={styles.commands} renderEmptyState={() => 'Nothing fits.'}>
          {targets.map(({ href, title }) => (
            <MenuItem key={href} onAction={() => go(href)}>
              {title}
            </MenuItem>
          ))}
        </Menu>
      </Autocomplete>
    </Dialog>
  );
}
