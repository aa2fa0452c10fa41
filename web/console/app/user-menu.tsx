import { useState } from 'react';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { Menu, MenuItem, MenuSeparator } from '../parts/menu.tsx';
import type { EarlyUse } from '../parts/use-stand-in.ts';
import { areCharacterKeysOn, switchCharacterKeys } from './keys.tsx';
import { useSession } from './session-state.tsx';
import { chooseTheme, chosenTheme, type Theme } from './theme.ts';
import { saveUnsaved, unsavedLosses } from './unsaved.ts';
import { UserMenuButton } from './user-menu-button.tsx';

const themes: Record<Theme, string> = { light: 'Light', dark: 'Dark', system: 'As the system' };

/** The account, the look of the console and its keys, and the way out. */
export function UserMenu({ early, onListKeys }: { early: EarlyUse; onListKeys(): void }) {
  const { leave } = useSession();
  const [theme, setTheme] = useState(chosenTheme);
  const [hasCharacterKeys, setCharacterKeys] = useState(areCharacterKeysOn);
  /** What signing out would lose; undefined: nobody is asked. */
  const [losses, setLosses] = useState<readonly string[]>();
  /** Why the session could not be ended. */
  const [failure, setFailure] = useState<unknown>();
  const choose = (next: Theme) => {
    chooseTheme(next);
    setTheme(next);
  };
  const signOut = async () => {
    if (await saveUnsaved()) await leave().catch(setFailure);
    else setLosses(unsavedLosses());
  };
  return (
    <>
      <Menu label="You" button={<UserMenuButton isFocusedAtFirst={early.isFocused} />} isOpenAtFirst={early.isPressed}>
        <MenuItem href="/account">Account</MenuItem>
        {(Object.keys(themes) as Theme[]).map((name) => (
          <MenuItem key={name} textValue={`Look: ${themes[name]}`} onAction={() => choose(name)}>
            Look: {themes[name]}
            {name === theme ? ' ✓' : ''}
          </MenuItem>
        ))}
        <MenuItem
          onAction={() => {
            switchCharacterKeys(!hasCharacterKeys);
            setCharacterKeys(!hasCharacterKeys);
          }}
        >
          {`Keys of one character: ${hasCharacterKeys ? 'on' : 'off'}`}
        </MenuItem>
        <MenuItem onAction={onListKeys}>List the keys</MenuItem>
        <MenuSeparator />
        <MenuItem onAction={() => void signOut()}>Sign out</MenuItem>
      </Menu>
      <ConfirmDialog
        title="Sign out without saving?"
        isOpen={losses !== undefined}
        onClose={() => setLosses(undefined)}
        action="Sign out"
        isDangerous
        onConfirm={() => leave()}
      >
        {losses?.join(' ')}
      </ConfirmDialog>
      {failure !== undefined && (
        <ConfirmDialog
          title="You are still signed in"
          isOpen
          onClose={() => setFailure(undefined)}
          action="Try again"
          onConfirm={() => leave()}
          failure={failure}
        >
          The session could not be ended: whoever uses this browser goes on in your name.
        </ConfirmDialog>
      )}
    </>
  );
}
