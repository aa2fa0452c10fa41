import { changeUser, deleteUser, type User } from '../../data/users.ts';
import { ConfirmDialog } from '../../parts/dialog.tsx';

interface EndUserProps {
  user: User;
  onClose(): void;
}

export function DisableUser({ user, onClose }: EndUserProps) {
  return (
    <ConfirmDialog
      title={`Disable ${user.email}?`}
      isOpen
      onClose={onClose}
      action="Disable the user"
      isDangerous
      onConfirm={() => changeUser(user.id, { isDisabled: true })}
    >
      The sessions end at once, and API keys are refused. The surveys of the user take responses as before. The webhooks
      send nothing, and what happens until the user is enabled again is not sent later.
    </ConfirmDialog>
  );
}

export function DeleteUser({ user, onClose }: EndUserProps) {
  return (
    <ConfirmDialog
      title={`Delete ${user.email}?`}
      isOpen
      onClose={onClose}
      action="Delete the user"
      isDangerous
      onConfirm={() => deleteUser(user.id)}
    >
      This cannot be undone. The surveys of the user become yours, with their webhooks and files; other webhooks of the
      user are switched off, and the API keys are deleted.
    </ConfirmDialog>
  );
}
