import { useState } from 'react';

/**
 * The text of a field: as it was typed, as long as that says the value, such as with a blank at the end before the next
 * word; otherwise `text`, that of the value. The function keeps what is typed.
 */
export function useTyped(text: string, saysValue: (typed: string) => boolean): [string, (typed: string) => void] {
  const [typed, setTyped] = useState(text);
  return [saysValue(typed) ? typed : text, setTyped];
}
