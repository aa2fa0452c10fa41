import type { ReactNode } from 'react';
import { FileTrigger } from 'react-aria-components/FileTrigger';
import { Button } from './button.tsx';

export interface FileButtonProps {
  /** Media types, or endings such as `.csv`. */
  accept: readonly string[];
  onFile(file: File): void;
  icon?: ReactNode;
  isDisabled?: boolean;
  isPending?: boolean;
  children: ReactNode;
}

/** A button that asks for one file. */
export function FileButton({ accept, onFile, ...button }: FileButtonProps) {
  return (
    <FileTrigger
      acceptedFileTypes={[...accept]}
      onSelect={(files) => {
        const file = files?.[0];
        if (file) onFile(file);
      }}
    >
      <Button {...button} />
    </FileTrigger>
  );
}
