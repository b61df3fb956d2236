// Collects log lines for display, and merges those of the first answer with those that arrive live.

import type { LogLine, LogsView } from '../../admin/page-api/page-api-types.ts'
import { useMemo, useState } from '../page-view.ts'
import { useLive, useLoaded, useReconnect } from '../server-data.ts'
import type { LinkState, Loaded } from '../server-data.ts'

export interface LogTail {
  readonly loaded: Loaded<LogsView>
  readonly again: () => void
  /** In ascending order. */
  readonly lines: readonly LogLine[]
  readonly link: LinkState
}

/** Collects at most `most` lines that `wants` accepts. `wants` must not change. */
export function useLogTail(most: number, wants: (line: LogLine) => boolean): LogTail {
  const [loaded, again] = useLoaded<LogsView>('/api/logs')
  const [received, setReceived] = useState<readonly LogLine[]>([])
  const link = useLive('logs', (event) =>
    setReceived((was) => mergeLines(was, event.lines.filter(wants), most)),
  )
  useReconnect(link, again)
  const lines = useMemo(() => {
    const first = loaded.state === 'ready' ? loaded.value.lines.filter(wants) : []
    return mergeLines(first, received, most)
  }, [loaded, received, most])
  return { loaded, again, lines, link }
}

/** Each line once, by number; the newest when there are too many. A restarted gateway counts from 1: then only its lines. */
export function mergeLines(
  lines: readonly LogLine[],
  more: readonly LogLine[],
  most: number,
): readonly LogLine[] {
  const [last, newest] = [lines.at(-1), more.at(-1)]
  if (last === undefined || newest === undefined) return (last ? lines : more).slice(-most)
  if (newest.number <= last.number && newest.at > last.at) return more.slice(-most)
  if (newest.number > last.number && newest.at < last.at) return lines.slice(-most)
  if (more[0]!.number > last.number) return [...lines, ...more].slice(-most)
  const byNumber = new Map([...lines, ...more].map((line) => [line.number, line]))
  return [...byNumber.values()].sort((one, other) => one.number - other.number).slice(-most)
}

/** How many lines between the first and the last are missing: they came too fast to be sent. */
export function missingCount(lines: readonly LogLine[]): number {
  const [first, last] = [lines[0], lines.at(-1)]
  return first && last ? last.number - first.number + 1 - lines.length : 0
}
