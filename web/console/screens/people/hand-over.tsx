import { useState } from 'react';
import { useShownOnce } from '../../app/shown-once.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { Secret } from '../../parts/form.tsx';

interface HandOverProps {
  title: string;
  email: string;
  password: string;
  onClose(): void;
}

/** What the ADMIN passes on: the service sends no e-mail, and shows a password at no other time. */
export function HandOver({ title, email, password, onClose }: HandOverProps) {
  const [isCopied, setCopied] = useState(false);
  useShownOnce(!isCopied);
  return (
    <Dialog title={title} isOpen onClose={onClose} isDismissable={false}>
      <p>Pass this on to {email}. The password is not shown again; it must be changed at the first sign-in.</p>
      <Secret label="Address of the console" text={location.origin} />
      <Secret label="First password" text={password} onCopied={() => setCopied(true)} />
      <DialogActions>
        <Button look="primary" onPress={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
