import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { usePaused } from '../parts/use-paused.ts';
import { type Kind, namesQuery, noNames } from './names.ts';

interface NameOptions {
  options: { value: string; label: string }[];
  onInputChange(text: string): void;
}

/** Users to choose from, which follow what is typed. One that is gone is named by its id. ADMIN only. */
export const useUserOptions = (chosen: string | null): NameOptions => useOptions('users', chosen);

/** Surveys to choose from, which follow what is typed. One that is gone is named by its id. */
export const useSurveyOptions = (chosen: string | null): NameOptions => useOptions('surveys', chosen);

function useOptions(kind: Kind, chosen: string | null): NameOptions {
  const [typed, onInputChange] = useState('');
  const own = useQuery(namesQuery(kind, { ids: chosen === null ? [] : [chosen] })).data;
  const chosenName = chosen === null ? undefined : own?.get(chosen);
  // The name of the chosen one stands in the field until something else is typed.
  const search = usePaused(typed === chosenName ? '' : typed.trim());
  const { data: found = noNames } = useQuery(namesQuery(kind, { search }));
  const names = new Map(found);
  if (chosen !== null && !names.has(chosen)) names.set(chosen, chosenName ?? chosen);
  const options = [...names].map(([value, label]) => ({ value, label }));
  return { options: options.sort((a, b) => a.label.localeCompare(b.label)), onInputChange };
}
