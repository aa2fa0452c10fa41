import { useState } from 'react';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import type { Definition, Question } from '../../data/questions.ts';
import { Button } from '../../parts/button.tsx';
import { ProblemPanel } from '../../parts/conflict.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import styles from './build.module.css';
import { ConditionEditor } from './condition-editor.tsx';
import { asGroup, firstCondition, isComplete, plainCondition } from './condition-forms.ts';
import { isSame } from './draft.ts';
import { sentenceOf } from './logic-words.ts';
import { Sentence } from './sentence.tsx';

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
  const isWhole = isComplete(edited);
  return (
    <Dialog title={title} isOpen onClose={onClose} isWide>
      <div className={styles.conditionBody}>
        <ConditionEditor survey={survey} earlier={earlier} condition={edited} onChange={setEdited} level={1} />
      </div>
      <p className={styles.preview} aria-live="polite">
        {isWhole ? (
          <Sentence words={sentenceOf(survey, plainCondition(edited))} />
        ) : (
          'The condition is not complete yet.'
        )}
      </p>
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
          isDisabled={!isWhole}
          onPress={() => {
            onSave(plainCondition(edited));
            onClose();
          }}
        >
          Use it
        </Button>
      </DialogActions>
    </Dialog>
  );
}
