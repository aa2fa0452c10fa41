import { useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { toast, toastFailure } from '../../app/toasts.tsx';
import { useIsShown } from '../../app/use-is-shown.ts';
import type { CurrentUser } from '../../data/me.ts';
import { leaveSurvey } from '../../data/members.ts';
import { readSurvey } from '../../data/survey-reads.ts';
import { deleteSurvey, lostResponsesText, type SurveyWithQuestions } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import { ConfirmDialog } from '../../parts/dialog.tsx';
import { Card } from '../../parts/page.tsx';
import { short } from '../../parts/short.ts';

interface EndCardProps {
  survey: SurveyWithQuestions;
  user: CurrentUser;
  /** May do everything with the survey. */
  isOwner: boolean;
}

/** Deleting a survey, or leaving one that others shared. */
export function EndCard({ survey: { id, title, ownerId, responseCount }, user, isOwner }: EndCardProps) {
  const router = useRouter();
  const isShown = useIsShown();
  const [isAsking, setAsking] = useState(false);
  const [isReading, setReading] = useState(false);
  const mayLeave = !isOwner && ownerId !== user.id;
  if (!isOwner && !mayLeave) return null;
  const leaveView = async (text: string) => {
    if (isShown()) await router.navigate({ to: '/surveys' });
    toast({ text });
  };
  const ask = async () => {
    setReading(true);
    try {
      // Responses may have come since the view was opened.
      if (isOwner) await readSurvey(id);
      setAsking(true);
    } catch (error) {
      toastFailure(error);
    } finally {
      setReading(false);
    }
  };
  const end = async () => {
    if (isOwner) {
      await deleteSurvey(id);
      await leaveView(`“${short(title)}” is deleted.`);
    } else {
      await leaveSurvey(id, user.id);
      await leaveView(`You have left “${short(title)}”.`);
    }
  };
  return (
    <Card title={isOwner ? 'Delete' : 'Leave'}>
      <p className="muted">
        {isOwner
          ? 'The survey disappears at once with its questions, responses and files. Events of the audit stay.'
          : 'The survey is no longer shared with you. Its owner can share it again.'}
      </p>
      <div>
        <Button look="danger" isPending={isReading} onPress={ask}>
          {isOwner ? 'Delete the survey' : 'Leave the survey'}
        </Button>
      </div>
      <ConfirmDialog
        title={isOwner ? `Delete “${title}”?` : `Leave “${title}”?`}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        action={isOwner ? 'Delete the survey' : 'Leave the survey'}
        isDangerous
        onConfirm={end}
      >
        {isOwner
          ? `${lostResponsesText(responseCount)} This cannot be undone.`
          : 'You see it again only when it is shared with you again.'}
      </ConfirmDialog>
    </Card>
  );
}
