import { type ReactNode, useRef } from 'react';
import { Button } from './button.tsx';

interface FileButtonProps {
  /** Media types, or endings such as `.csv`. */
  accept: readonly string[];
  onFile(file: File): void;
  icon?: ReactNode;
  isPending?: boolean;
  children: ReactNode;
}

/** A button that asks for one file. */
export function FileButton({ accept, onFile, ...button }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        accept={accept.join(',')}
        onChange={({ target }) => {
          const file = target.files?.[0];
          // The same file can be chosen again.
          target.value = '';
          if (file) onFile(file);
        }}
      />
      <Button {...button} onPress={() => input.current?.click()} />
    </>
  );
}
