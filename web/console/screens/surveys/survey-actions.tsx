import { Copy, FileJson, Trash2 } from 'lucide-react';
import { toastFailure } from '../../app/toasts.tsx';
import { surveyFile } from '../../data/survey-files.ts';
import type { SurveyListItem } from '../../data/surveys.ts';
import { Menu, MenuItem } from '../../parts/menu.tsx';
import { fileName, saveFile } from '../../parts/save-file.ts';
import type { EarlyUse } from '../../parts/use-stand-in.ts';
import { SurveyActionsButton } from './survey-actions-button.tsx';

export interface SurveyActionsProps {
  survey: SurveyListItem;
  early: EarlyUse;
  canDuplicate: boolean;
  canDelete: boolean;
  onDuplicate(): void;
  onDelete(): void;
}

/** What can be done with a survey of the list. */
export function SurveyActions(props: SurveyActionsProps) {
  const { survey, early, canDuplicate, canDelete, onDuplicate, onDelete } = props;
  return (
    <Menu
      label={`Actions of ${survey.title}`}
      button={<SurveyActionsButton survey={survey} isFocusedAtFirst={early.isFocused} />}
      isOpenAtFirst={early.isPressed}
    >
      <MenuItem icon={<Copy aria-hidden />} isDisabled={!canDuplicate} onAction={onDuplicate}>
        Duplicate
      </MenuItem>
      <MenuItem icon={<FileJson aria-hidden />} onAction={() => void save(survey)}>
        Save as a file
      </MenuItem>
      <MenuItem icon={<Trash2 aria-hidden />} isDangerous isDisabled={!canDelete} onAction={onDelete}>
        Delete
      </MenuItem>
    </Menu>
  );
}

async function save({ id, title }: SurveyListItem): Promise<void> {
  try {
    saveFile(await surveyFile(id), fileName(title, 'json'));
  } catch (error) {
    toastFailure(error);
  }
}
