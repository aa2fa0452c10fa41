import type { BuildPane } from '../../app/search.ts';
import { useMayEditSurvey } from '../../app/survey-layout.tsx';
import type { Definition } from '../../data/questions.ts';
import { Tabs } from '../../parts/page.tsx';
import styles from './build.module.css';
import type { Row } from './outline-rows.ts';
import { PathMap } from './path-map.tsx';
import { Preview } from './preview.tsx';
import { Suggestions } from './suggestions.tsx';
import { Versions } from './versions.tsx';

interface SidePaneProps {
  survey: Definition;
  stored: Definition;
  selected: Row | undefined;
  pane: BuildPane;
  onPane(pane: BuildPane): void;
  onSelect(id: string): void;
}

/**
 * What stands beside the editor: the respondent's page, the path through the survey, suggestions for the wording of a
 * question, or the versions of the survey.
 */
export function SidePane({ survey, stored, selected, pane, onPane, onSelect }: SidePaneProps) {
  const canEdit = useMayEditSurvey();
  return (
    <aside className={styles.side} aria-label="Beside the editor">
      <Tabs
        label="Beside the editor"
        selected={pane === 'wording' && !canEdit ? 'preview' : pane}
        onSelect={onPane}
        tabs={[
          {
            id: 'preview',
            title: 'Preview',
            content: <Preview survey={survey} selected={selected?.id} onSelect={onSelect} />,
          },
          {
            id: 'path',
            title: 'Path',
            content: <PathMap survey={survey} selected={selected?.id} onSelect={onSelect} />,
          },
          ...(canEdit
            ? [
                {
                  id: 'wording' as const,
                  title: 'Wording',
                  content: (
                    <Suggestions
                      surveyId={survey.id}
                      question={selected?.kind === 'question' ? selected.question : undefined}
                    />
                  ),
                },
              ]
            : []),
          { id: 'versions', title: 'Versions', content: <Versions survey={stored} /> },
        ]}
      />
    </aside>
  );
}
