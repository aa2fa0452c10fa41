import { useState } from 'react';

export interface StandInHandlers {
  onPressStart(): void;
  onPressEnd(): void;
  onPress(): void;
  onFocus(): void;
  onBlur(): void;
}

/** How the button that stood in for a menu was being used when the menu came. */
export interface EarlyUse {
  isPressed: boolean;
  isFocused: boolean;
}

/**
 * Remembers the press and the focus of a button that stands in for a menu while that is being loaded. A press counts
 * from its start: the menu may come, and its own button with it, before the press has ended.
 */
export function useStandIn(): { early: EarlyUse; handlers: StandInHandlers } {
  const [isPressed, setPressed] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const press = () => setPressed(true);
  return {
    early: { isPressed, isFocused },
    handlers: {
      onPressStart: press,
      // A press that leaves the button before it ends is none.
      onPressEnd: () => setPressed(false),
      onPress: press,
      onFocus: () => setFocused(true),
      onBlur: () => setFocused(false),
    },
  };
}
