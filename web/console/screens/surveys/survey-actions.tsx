import { Copy, Trash2 } from 'lucide-react';
import type { SurveyListItem } from '../../data/surveys.ts';
import { Menu, MenuItem } from '../../parts/menu.tsx';
import { SurveyActionsButton } from './survey-actions-button.tsx';

export interface SurveyActionsProps {
  survey: SurveyListItem;
  isOpenAtFirst: boolean;
  canDuplicate: boolean;
  canDelete: boolean;
  onDuplicate(): void;
  onDelete(): void;
}

/** What can be done with a survey of the list. */
export function SurveyActions(props: SurveyActionsProps) {
  const { survey, isOpenAtFirst, canDuplicate, canDelete, onDuplicate, onDelete } = props;
  return (
    <Menu
      label={`Actions of ${survey.title}`}
      button={<SurveyActionsButton survey={survey} />}
      isOpenAtFirst={isOpenAtFirst}
    >
      <MenuItem icon={<Copy aria-hidden />} isDisabled={!canDuplicate} onAction={onDuplicate}>
        Duplicate
      </MenuItem>
      <MenuItem icon={<Trash2 aria-hidden />} isDangerous isDisabled={!canDelete} onAction={onDelete}>
        Delete
      </MenuItem>
    </Menu>
  );
}
