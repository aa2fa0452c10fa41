import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { surveyListQuery } from '../data/surveys.ts';
import { ComboBox } from '../parts/choice-fields.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { places } from './navigation.ts';
import { useUser } from './session-state.tsx';

/** Goes to a place of the console or to a survey, found by typing. */
export function CommandPalette({ onClose }: { onClose(): void }) {
  const router = useRouter();
  const user = useUser();
  const [text, setText] = useState('');
  const search = useDeferredValue(text.trim());
  const { data: surveys } = useQuery(surveyListQuery({ page: 1, limit: 20, ...(search !== '' && { search }) }));
  const options = [
    ...places
      .filter(({ path, roles }) => Object.hasOwn(router.routesByPath, path) && user && roles.includes(user.role))
      .map(({ path, title }) => ({ value: path, label: title })),
    ...(surveys?.items ?? []).map(({ id, title }) => ({ value: `/surveys/${id}`, label: title })),
  ];
  return (
    <Dialog title="Go to" isOpen onClose={onClose}>
      <ComboBox
        label="A place or a survey"
        options={options}
        value={null}
        autoFocus
        onInputChange={setText}
        onChange={(href) => {
          if (href === null) return;
          onClose();
          void router.navigate({ href });
        }}
      />
    </Dialog>
  );
}
