import { ArrowDown, ArrowUp } from 'lucide-react';
import { IconButton } from '../../parts/button.tsx';
import { nextPlace, type Row } from './outline-rows.ts';

interface MoveButtonsProps {
  rows: readonly Row[];
  row: Row;
  onMove(row: Row, to: number | undefined): void;
}

/** Move a question or section by a step. At an end they do nothing, but keep the focus, unlike a disabled button. */
export function MoveButtons({ rows, row, onMove }: MoveButtonsProps) {
  const [up, down] = [nextPlace(rows, row, -1), nextPlace(rows, row, 1)];
  return (
    <>
      <IconButton
        label={`Move the ${row.kind} up`}
        icon={<ArrowUp aria-hidden />}
        aria-disabled={up === undefined}
        onPress={() => onMove(row, up)}
      />
      <IconButton
        label={`Move the ${row.kind} down`}
        icon={<ArrowDown aria-hidden />}
        aria-disabled={down === undefined}
        onPress={() => onMove(row, down)}
      />
    </>
  );
}
