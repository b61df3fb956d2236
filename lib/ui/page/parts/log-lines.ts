// The newest lines of the log: those that were there, and those that come.

import { useMemo, useState } from '../view.ts'
import { merged } from './merged.ts'
import { useLive, useLoaded, useReturn } from '../use.ts'
import type { Loaded } from '../use.ts'
import type { LinkState } from '../live.ts'
import type { LogLine, LogsView } from '../../../admin/page-api/page-api-types.ts'

export interface LogTail {
  readonly loaded: Loaded<LogsView>
  readonly again: () => void
  /** The oldest first. */
  readonly lines: readonly LogLine[]
  readonly link: LinkState
}

/** At most so many of those that are wanted. `wants` is fixed. */
export function useLogTail(most: number, wants: (line: LogLine) => boolean): LogTail {
  const [loaded, again] = useLoaded<LogsView>('/api/logs')
  const [heard, setHeard] = useState<readonly LogLine[]>([])
  const link = useLive('logs', (event) =>
    setHeard((was) => merged(was, event.lines.filter(wants), most)),
  )
  useReturn(link, again)
  const lines = useMemo(() => {
    const first = loaded.state === 'ready' ? loaded.value.lines.filter(wants) : []
    return merged(first, heard, most)
  }, [loaded, heard, most])
  return { loaded, again, lines, link }
}
