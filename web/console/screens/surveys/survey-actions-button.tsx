import { Ellipsis } from 'lucide-react';
import type { SurveyListItem } from '../../data/surveys.ts';
import { IconButton } from '../../parts/button.tsx';
import type { StandInHandlers } from '../../parts/use-stand-in.ts';

interface SurveyActionsButtonProps {
  survey: SurveyListItem;
  /** They remember how the button is used while the menu is being loaded. */
  handlers?: StandInHandlers;
  isFocusedAtFirst?: boolean;
}

/** Opens the menu of a survey. */
export const SurveyActionsButton = ({ survey, handlers, isFocusedAtFirst = false }: SurveyActionsButtonProps) => (
  <IconButton
    {...handlers}
    autoFocus={isFocusedAtFirst}
    label={`Actions of ${survey.title}`}
    icon={<Ellipsis aria-hidden />}
  />
);
