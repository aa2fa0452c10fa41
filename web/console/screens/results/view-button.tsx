import { Button } from '../../parts/button.tsx';

export type View = 'chart' | 'table';

interface ViewButtonProps {
  /** What is shown, for screen readers. */
  title: string;
  view: View;
  onView(view: View): void;
}

/** Shows the same figures as a table instead of a chart, and back. */
export function ViewButton({ title, view, onView }: ViewButtonProps) {
  const other = view === 'chart' ? 'table' : 'chart';
  return (
    <Button look="quiet" aria-label={`Show ${title} as a ${other}`} onPress={() => onView(other)}>
      {other === 'table' ? 'Table' : 'Chart'}
    </Button>
  );
}
