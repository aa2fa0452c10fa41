import { useQuery } from '@tanstack/react-query';
import { Merge, Pencil, Split } from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useMayEditSurvey } from '../../app/survey-layout.tsx';
import { toast, toastFailure } from '../../app/toasts.tsx';
import { type Found, nameThemes, type ThemeNaming, themeNamesQuery } from '../../data/open-answers.ts';
import { MenuItem, MenuSeparator } from '../../parts/menu.tsx';
import { Card } from '../../parts/page.tsx';
import { FoundMenu } from './elsewhere.tsx';
import { FoundBars } from './found-bars.tsx';
import { MergeThemes } from './merge-themes.tsx';
import { RenameTheme } from './rename-theme.tsx';

interface ThemesCardProps {
  surveyId: string;
  questionId: string;
  found: readonly Found[] | null | undefined;
  error: unknown;
  /** The theme that the answers are narrowed to. */
  selected: string | undefined;
  onSelect(theme: string | undefined): Promise<void>;
  actions: ReactNode;
}

type Work = { kind: 'rename' | 'merge'; theme: string };
const undoSeconds = 12;

/** The themes that an analysis found; editors rename and merge them in place. */
export function ThemesCard({ surveyId, questionId, found, error, selected, onSelect, actions }: ThemesCardProps) {
  const mayEdit = useMayEditSurvey();
  const [work, setWork] = useState<Work>();
  const card = useRef<HTMLDivElement>(null);
  const returnTo = useRef<string>(undefined);
  /** What is selected now; nothing once the view is left. */
  const latest = useRef<string>(undefined);
  useEffect(() => {
    latest.current = selected;
    return () => {
      latest.current = undefined;
    };
  }, [selected]);
  const end = (theme: string) => {
    returnTo.current = theme;
    setWork(undefined);
  };
  // The field that had the focus is gone: the theme has it instead.
  useEffect(() => {
    if (work !== undefined || returnTo.current === undefined) return;
    const theme = CSS.escape(returnTo.current);
    returnTo.current = undefined;
    card.current?.querySelector<HTMLElement>(`[data-value="${theme}"]`)?.focus();
  }, [work]);
  /** Before the name is gone, the answers are narrowed by the former one, which leads to the theme all the while. */
  const takeBack = async (undo: readonly ThemeNaming[], reselect?: { from: string; to: string }) => {
    if (reselect && latest.current === reselect.from) await onSelect(reselect.to);
    await nameThemes(surveyId, undo);
  };
  const name = async (namings: readonly ThemeNaming[], text: string, into: string) => {
    const undo = await nameThemes(surveyId, namings);
    const isSelected = selected !== undefined && namings.some(({ theme }) => theme === selected);
    if (isSelected) await onSelect(into);
    end(into);
    toast({
      text,
      seconds: undoSeconds,
      ...(undo.length > 0 && {
        action: {
          label: 'Undo',
          run: () => void takeBack(undo, isSelected ? { from: into, to: selected } : undefined).catch(toastFailure),
        },
      }),
    });
  };
  const { data: named = [] } = useQuery({ ...themeNamesQuery(surveyId), enabled: mayEdit });
  const formerOf = (theme: string) => named.filter(({ name: now }) => now === theme).map(({ theme: former }) => former);
  const restore = async (theme: string, former: readonly string[]) => {
    const text = former.length === 1 ? `“${former[0]}” has its name again.` : `${former.length} themes are restored.`;
    // What the answers are narrowed to may be gone.
    if (selected === theme) await onSelect(undefined);
    await name(
      former.map((one) => ({ theme: one, name: null })),
      text,
      theme,
    );
  };
  const themes = found?.filter(({ count }) => count > 0) ?? [];
  return (
    <div ref={card}>
      <Card title="Themes" actions={actions}>
        {work?.kind === 'merge' ? (
          <MergeThemes
            themes={themes}
            first={work.theme}
            onMerge={(chosen, into) =>
              name(
                chosen.filter((theme) => theme !== into).map((theme) => ({ theme, name: into })),
                `${chosen.length} themes are now “${into}”.`,
                into,
              )
            }
            onCancel={() => end(work.theme)}
          />
        ) : (
          <FoundBars
            found={found}
            error={error}
            nothing="What answers are about is not known yet."
            selected={selected}
            nameOf={(value) => value}
            onSelect={onSelect}
            menuOf={(theme) => (
              <FoundMenu name={theme} {...{ surveyId, questionId }} found={{ theme }}>
                {mayEdit && <MenuSeparator />}
                {mayEdit && (
                  <MenuItem icon={<Pencil aria-hidden />} onAction={() => setWork({ kind: 'rename', theme })}>
                    Rename
                  </MenuItem>
                )}
                {mayEdit && themes.length > 1 && (
                  <MenuItem icon={<Merge aria-hidden />} onAction={() => setWork({ kind: 'merge', theme })}>
                    Merge with others
                  </MenuItem>
                )}
                {mayEdit && formerOf(theme).length > 0 && (
                  <MenuItem
                    icon={<Split aria-hidden />}
                    onAction={() => void restore(theme, formerOf(theme)).catch(toastFailure)}
                  >
                    {formerOf(theme).length === 1
                      ? `Restore “${formerOf(theme)[0]}”`
                      : `Restore ${formerOf(theme).length} former themes`}
                  </MenuItem>
                )}
              </FoundMenu>
            )}
            instead={
              work && {
                value: work.theme,
                content: (
                  <RenameTheme
                    theme={work.theme}
                    names={themes.map(({ value }) => value)}
                    onRename={(into) =>
                      name([{ theme: work.theme, name: into }], `“${work.theme}” is now “${into}”.`, into)
                    }
                    onCancel={() => end(work.theme)}
                  />
                ),
              }
            }
          />
        )}
      </Card>
    </div>
  );
}
