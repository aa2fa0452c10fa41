import { useState } from 'react';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import { FormDialog } from '../../app/form-dialog.tsx';
import { ConditionForm } from '../../conditions/condition-form.tsx';
import { asGroup, firstCondition, isComplete, plainCondition } from '../../conditions/condition-forms.ts';
import { sentenceOf } from '../../conditions/condition-words.ts';
import { Sentence } from '../../conditions/sentence.tsx';
import type { Definition, Question } from '../../data/questions.ts';
import { Button } from '../../parts/button.tsx';
import { ProblemPanel } from '../../parts/conflict.tsx';
import { DialogActions } from '../../parts/dialog.tsx';
import { isSame } from './draft.ts';

interface ConditionDialogProps {
  title: string;
  survey: Definition;
  /** Questions that it may name. */
  earlier: readonly Question[];
  condition: Condition | null;
  /** Null: no condition any more. */
  onSave(condition: Condition | null): void;
  onClose(): void;
}

/** Edits one condition; nothing is changed until it is complete and taken over. */
export function ConditionDialog({ title, survey, earlier, condition, onSave, onClose }: ConditionDialogProps) {
  const [edited, setEdited] = useState(() => asGroup(condition ?? firstCondition(earlier)));
  const [conditionAtFirst] = useState(condition);
  return (
    <FormDialog title={title} isOpen onClose={onClose} isWide fields={edited}>
      <ConditionForm survey={survey} questions={earlier} condition={edited} onChange={setEdited} />
      {!isSame(condition, conditionAtFirst) && (
        <ProblemPanel label="Changed meanwhile">
          <p>Somebody else has changed this condition meanwhile. “Use it” replaces what it is now:</p>
          <p>{condition ? <Sentence words={sentenceOf(survey, condition)} /> : 'There is none.'}</p>
        </ProblemPanel>
      )}
      <DialogActions>
        {condition && (
          <Button
            look="danger"
            onPress={() => {
              onSave(null);
              onClose();
            }}
          >
            Remove the condition
          </Button>
        )}
        <Button onPress={onClose}>Cancel</Button>
        <Button
          look="primary"
          isDisabled={!isComplete(edited)}
          onPress={() => {
            onSave(plainCondition(edited));
            onClose();
          }}
        >
          Use it
        </Button>
      </DialogActions>
    </FormDialog>
  );
}
