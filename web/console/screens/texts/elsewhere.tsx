import { ChartColumn, Ellipsis, List, Table2 } from 'lucide-react';
import type { ReactNode } from 'react';
import { annotationFilters } from '../../data/open-answers.ts';
import { IconButton } from '../../parts/button.tsx';
import { Menu, MenuItem } from '../../parts/menu.tsx';
import type { TextsSearch } from './search.ts';

type Found = Pick<TextsSearch, 'sentiment' | 'theme'>;

/** The addresses of the other views, narrowed to the responses in whose answer to a question this was found. */
export function viewsOf(surveyId: string, questionId: string, found: Found) {
  const query = annotationFilters(questionId, found)
    .map((filter) => `filter=${encodeURIComponent(filter)}`)
    .join('&');
  const hrefOf = (view: string) => `/surveys/${surveyId}/${view}?${query}`;
  return [
    { name: 'Results', href: hrefOf('results'), icon: <ChartColumn aria-hidden /> },
    { name: 'Crosstab', href: hrefOf('crosstab'), icon: <Table2 aria-hidden /> },
    { name: 'Responses', href: hrefOf('responses'), icon: <List aria-hidden /> },
  ];
}

interface FoundMenuProps {
  name: string;
  surveyId: string;
  questionId: string;
  found: Found;
  /** Further items. */
  children?: ReactNode;
}

/** What can be done with something that an analysis found. */
export function FoundMenu({ name, surveyId, questionId, found, children }: FoundMenuProps) {
  return (
    <Menu label={name} button={<IconButton label={`Actions for ${name}`} icon={<Ellipsis aria-hidden />} />}>
      {viewsOf(surveyId, questionId, found).map(({ name: view, href, icon }) => (
        <MenuItem key={view} href={href} icon={icon}>
          {`Show in ${view}`}
        </MenuItem>
      ))}
      {children}
    </Menu>
  );
}
