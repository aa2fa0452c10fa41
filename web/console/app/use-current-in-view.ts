import { type RefObject, useEffect, useRef } from 'react';

/**
 * For a navigation that scrolls: brings its current link into its middle where that is not seen. `links` are its number
 * of links, which may come later than the navigation.
 */
export function useCurrentInView(pathname: string, links: number): RefObject<HTMLElement | null> {
  const navigation = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: both decide which link is the current one.
  useEffect(() => {
    const room = navigation.current?.getBoundingClientRect();
    const link = navigation.current?.querySelector('[aria-current="page"]')?.getBoundingClientRect();
    if (!room || !link) return;
    const isSeen =
      link.left >= room.left && link.right <= room.right && link.top >= room.top && link.bottom <= room.bottom;
    // scrollIntoView would move the page, too.
    if (!isSeen)
      navigation.current?.scrollBy(
        link.left + link.width / 2 - (room.left + room.width / 2),
        link.top + link.height / 2 - (room.top + room.height / 2),
      );
  }, [pathname, links]);
  return navigation;
}
