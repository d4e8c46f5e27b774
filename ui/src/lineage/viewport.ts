// Scrolling and zooming of the graph. The graph scrolls like any other box, so that the wheel, touch
// and assistive technology work as usual; zooming scales its content.

import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

import type { Rectangle } from "./edges.tsx";
import { CARD_WIDTH, type Layout } from "./layout.ts";

export const MIN_SCALE = 0.1;
const MAX_SCALE = 1.5;
/** The smallest scale at which a graph opens: names are still readable. */
const MIN_FIRST_SCALE = 0.7;
const ZOOM_STEP = 1.25;
/** How far beyond the visible part to render, in pixels of the screen. */
const MARGIN = 300;
/** Space around the graph. */
export const PADDING = 40;

interface Focal {
  /** A point of the graph, and where in the box to keep it. */
  readonly x: number;
  readonly y: number;
  readonly left: number;
  readonly top: number;
}

/** Where to scroll once the graph has another scale. */
interface PendingMove {
  readonly focal: Focal;
  readonly scale: number;
}

export function useViewport(
  box: RefObject<HTMLDivElement | null>,
  content: RefObject<HTMLDivElement | null>,
  layout: Layout,
  /** The card that stays where it is when the layout changes. */
  anchor: string,
) {
  const [scale, setScale] = useState(1);
  const [visible, setVisible] = useState<Rectangle>({ left: 0, top: 0, right: 0, bottom: 0 });
  const pending = useRef<PendingMove | null>(null);
  const hasMoved = useRef(false);
  const previous = useRef<Layout | null>(null);

  const measure = useCallback(() => {
    if (box.current === null || content.current === null) return;
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = box.current;
    const left = (scrollLeft - content.current.offsetLeft - PADDING * scale - MARGIN) / scale;
    const top = (scrollTop - content.current.offsetTop - PADDING * scale - MARGIN) / scale;
    const next = {
      left,
      top,
      right: left + (clientWidth + 2 * MARGIN) / scale,
      bottom: top + (clientHeight + 2 * MARGIN) / scale,
    };
    setVisible((last) => (isNear(last, next, MARGIN / 2 / scale) ? last : next));
  }, [box, content, scale]);

  /** Scrolls so that a point of the graph is at a point of the box. */
  const moveTo = useCallback(
    ({ x, y, left, top }: Focal) => {
      if (box.current === null || content.current === null) return;
      box.current.scrollLeft = content.current.offsetLeft + (x + PADDING) * scale - left;
      box.current.scrollTop = content.current.offsetTop + (y + PADDING) * scale - top;
    },
    [box, content, scale],
  );

  /** Shows the graph at a scale, with a point of it at a point of the box. */
  const show = (focal: Focal, next: number) => {
    pending.current = { focal, scale: next };
    setScale(next);
    if (next === scale) moveTo(focal);
  };

  const middle = () => ({
    left: (box.current?.clientWidth ?? 0) / 2,
    top: (box.current?.clientHeight ?? 0) / 2,
  });

  const zoomTo = (next: number, at = middle()) => {
    if (box.current === null || content.current === null) return;
    hasMoved.current = true;
    const { scrollLeft, scrollTop } = box.current;
    const focal = {
      ...at,
      x: (scrollLeft + at.left - content.current.offsetLeft) / scale - PADDING,
      y: (scrollTop + at.top - content.current.offsetTop) / scale - PADDING,
    };
    show(focal, Math.max(MIN_SCALE, Math.min(MAX_SCALE, next)));
  };
  const zoom = (steps: number, at?: { readonly left: number; readonly top: number }) =>
    zoomTo(scale * ZOOM_STEP ** steps, at);

  const fittingScale = () => {
    if (box.current === null) return 1;
    const { clientWidth, clientHeight } = box.current;
    return Math.min(
      1,
      clientWidth / (layout.width + 2 * PADDING),
      clientHeight / (layout.height + 2 * PADDING),
    );
  };
  const centerOf = (urn: string): Focal => {
    const card = layout.cards.get(urn);
    const x = (card?.x ?? 0) + CARD_WIDTH / 2;
    return { ...middle(), x, y: (card?.y ?? 0) + (card?.height ?? 0) / 2 };
  };
  const whole = (): Focal => ({ ...middle(), x: layout.width / 2, y: layout.height / 2 });
  const fit = () => {
    hasMoved.current = true;
    show(whole(), Math.max(MIN_SCALE, fittingScale()));
  };
  const center = () => moveTo(centerOf(anchor));

  // Opens with all of the graph, or with the start in the middle if all of it would be too small to
  // read. Keeps the anchor in place when cards are added.
  useLayoutEffect(() => {
    const old = previous.current;
    previous.current = layout;
    if (!hasMoved.current) {
      const fitting = fittingScale();
      if (fitting >= MIN_FIRST_SCALE) show(whole(), fitting);
      else show(centerOf(anchor), MIN_FIRST_SCALE);
      return;
    }
    const before = old?.cards.get(anchor);
    const after = layout.cards.get(anchor);
    if (old === null || old === layout || box.current === null) return;
    if (before !== undefined && after !== undefined) {
      box.current.scrollLeft += (after.x - before.x) * scale;
      box.current.scrollTop += (after.y - before.y) * scale;
    }
  }, [layout]);

  useLayoutEffect(() => {
    if (pending.current?.scale !== scale) return;
    moveTo(pending.current.focal);
    pending.current = null;
  }, [scale, moveTo]);

  useLayoutEffect(measure, [measure, layout]);

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    let frame = 0;
    const onScroll = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(measure);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, [box, measure]);

  const latestZoom = useRef(zoom);
  latestZoom.current = zoom;
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    // Pinching on a touchpad arrives as a wheel event with the Ctrl key.
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { left, top } = element.getBoundingClientRect();
      const at = { left: event.clientX - left, top: event.clientY - top };
      latestZoom.current(Math.max(-1, Math.min(1, -event.deltaY / 100)), at);
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [box]);

  const onMoved = useCallback(() => {
    hasMoved.current = true;
  }, []);
  return { scale, visible, zoom, fit, center, onMoved };
}

/** Whether the new part needs no other cards than the last one. */
function isNear(last: Rectangle, next: Rectangle, tolerance: number): boolean {
  const sides = ["left", "top", "right", "bottom"] as const;
  return sides.every((side) => Math.abs(last[side] - next[side]) < tolerance);
}

/** Lets the mouse drag the content of a box. */
export function useDragging(box: RefObject<HTMLDivElement | null>, onMoved: () => void): void {
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    let last: { readonly x: number; readonly y: number } | null = null;
    const onDown = (event: PointerEvent) => {
      const isOnCard = event.target instanceof Element && event.target.closest("button") !== null;
      if (event.pointerType !== "mouse" || event.button !== 0 || isOnCard) return;
      last = { x: event.clientX, y: event.clientY };
      element.setPointerCapture(event.pointerId);
    };
    const onMove = (event: PointerEvent) => {
      if (last === null) return;
      onMoved();
      element.scrollLeft -= event.clientX - last.x;
      element.scrollTop -= event.clientY - last.y;
      last = { x: event.clientX, y: event.clientY };
    };
    const onEnd = () => (last = null);
    element.addEventListener("pointerdown", onDown);
    element.addEventListener("pointermove", onMove);
    for (const type of ["pointerup", "pointercancel"] as const)
      element.addEventListener(type, onEnd);
    return () => {
      element.removeEventListener("pointerdown", onDown);
      element.removeEventListener("pointermove", onMove);
      for (const type of ["pointerup", "pointercancel"] as const)
        element.removeEventListener(type, onEnd);
    };
  }, [box, onMoved]);
}
