/** What is put off until the press ends; undefined while nothing is pressed. */
let putOff: (() => void)[] | undefined;

const onPointer = (name: 'pointerdown' | 'pointerup' | 'pointercancel', work: () => void): void =>
  // The service renders the page too, where there are no events.
  globalThis.addEventListener?.(name, work, true);

const end = (): void => {
  const works = putOff ?? [];
  putOff = undefined;
  // After the click that comes with the release.
  setTimeout(() => {
    for (const work of works) work();
  });
};
onPointer('pointerdown', () => (putOff ??= []));
onPointer('pointerup', end);
onPointer('pointercancel', end);

/**
 * Runs the work at once, or when the press that is going on has ended: what it draws could move the control that is
 * pressed away from under the pointer, and the press would be lost.
 */
export function afterPress(work: () => void): void {
  if (putOff) putOff.push(work);
  else work();
}
