import { Ellipsis } from 'lucide-react';
import type { SurveyListItem } from '../../data/surveys.ts';
import { IconButton } from '../../parts/button.tsx';

/** Opens the menu of a survey; `onPress` remembers a press while the menu is being loaded. */
export const SurveyActionsButton = ({ survey, onPress }: { survey: SurveyListItem; onPress?: () => void }) => (
  <IconButton label={`Actions of ${survey.title}`} icon={<Ellipsis aria-hidden />} onPress={onPress} />
);
