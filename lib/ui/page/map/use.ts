// What the map hears and measures: the map itself, anew when the configuration changes and every few seconds for its
// counts, how fast those grow, and how wide the place is.

import { useEffect, useLayoutEffect, useRef, useState } from '../view.ts'
import { useLatest, useLive, useLoaded } from '../use.ts'
import type { Loaded } from '../use.ts'
import { paceBetween } from './words.ts'
import type { Pace } from './words.ts'
import type { MapView, RouteTraffic } from '../../../admin/page-api/page-api-types.ts'

/** Between two looks at the counts, while somebody looks. */
const LOOK_EVERY = 4_000

export function useMap(): readonly [Loaded<MapView>, again: () => void] {
  const [loaded, again] = useLoaded<MapView>('/api/map')
  const latest = useLatest(loaded)
  useLive('config', ({ generation }) => {
    const { current } = latest
    if (current.state === 'failed') again()
    else if (current.state === 'ready' && current.value.generation !== generation) again()
  })
  useEffect(() => {
    const look = (): void => {
      if (!document.hidden) again()
    }
    const timer = setInterval(look, LOOK_EVERY)
    document.addEventListener('visibilitychange', look)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }, [again])
  return [loaded, again]
}

interface Look {
  readonly at: number
  readonly counts: ReadonlyMap<string, RouteTraffic>
}

/** By key of the route; those that stand still are not there. */
export function usePaces(view: MapView | null): ReadonlyMap<string, Pace> {
  const last = useRef<Look | null>(null)
  const [paces, set] = useState<ReadonlyMap<string, Pace>>(new Map())
  useEffect(() => {
    if (view === null) return
    const routes = view.gateways.flatMap(({ listeners }) => listeners).flatMap((one) => one.routes)
    const counts = new Map(routes.map(({ key, traffic }) => [key, traffic]))
    const now = { at: performance.now(), counts }
    const before = last.current
    last.current = now
    if (before === null) return
    const found = new Map<string, Pace>()
    for (const [key, traffic] of counts) {
      const was = before.counts.get(key)
      const pace = was === undefined ? null : paceBetween(was, traffic, now.at - before.at)
      if (pace !== null && pace.requests > 0) found.set(key, pace)
    }
    set(found)
  }, [view])
  return paces
}

/** Of the element that the reference is given to; 0 before it is there. */
export function useWidth(): readonly [{ current: HTMLDivElement | null }, number] {
  const place = useRef<HTMLDivElement>(null)
  const [width, set] = useState(0)
  useLayoutEffect(() => {
    const element = place.current
    if (element === null) return
    set(element.clientWidth)
    const observer = new ResizeObserver(() => set(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [place, width]
}
