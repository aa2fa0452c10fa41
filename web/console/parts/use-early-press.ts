import { useState } from 'react';

export interface PressHandlers {
  onPressStart(): void;
  onPressEnd(): void;
  onPress(): void;
}

/**
 * Remembers the press of a button that stands in for a menu while that is being loaded. A press counts from its start:
 * the menu may come, and its own button with it, before the press has ended.
 */
export function useEarlyPress(): { isPressed: boolean; handlers: PressHandlers } {
  const [isPressed, setPressed] = useState(false);
  const press = () => setPressed(true);
  // A press that leaves the button before it ends is none.
  return { isPressed, handlers: { onPressStart: press, onPressEnd: () => setPressed(false), onPress: press } };
}
