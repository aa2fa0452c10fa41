import { Ellipsis } from 'lucide-react';
import type { SurveyListItem } from '../../data/surveys.ts';
import { IconButton } from '../../parts/button.tsx';
import type { PressHandlers } from '../../parts/use-early-press.ts';

/** Opens the menu of a survey; `handlers` remember a press while the menu is being loaded. */
export const SurveyActionsButton = ({ survey, handlers }: { survey: SurveyListItem; handlers?: PressHandlers }) => (
  <IconButton {...handlers} label={`Actions of ${survey.title}`} icon={<Ellipsis aria-hidden />} />
);
