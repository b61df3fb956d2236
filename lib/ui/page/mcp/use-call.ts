// One request at a time to an MCP server, with how far it is and how it ended.

import { useEffect, useRef, useState } from '../view.ts'
import type { McpClient, Progress } from './client.ts'
import type { Members } from './messages.ts'

export type CallState =
  | { readonly state: 'idle' }
  | { readonly state: 'running'; readonly since: number; readonly progress: Progress | null }
  | { readonly state: 'done'; readonly result: Members; readonly took: number }
  | { readonly state: 'failed'; readonly error: unknown; readonly took: number }
  | { readonly state: 'cancelled'; readonly took: number }

export interface Call {
  readonly call: CallState
  readonly run: (method: string, params: Members) => void
  readonly cancel: () => void
}

export function useCall(client: McpClient): Call {
  const [call, set] = useState<CallState>({ state: 'idle' })
  const controller = useRef<AbortController | null>(null)
  const cancel = (): void => controller.current?.abort()
  const run = (method: string, params: Members): void => {
    cancel()
    const own = new AbortController()
    controller.current = own
    const since = performance.now()
    const took = (): number => performance.now() - since
    const isCurrent = (): boolean => controller.current === own
    set({ state: 'running', since, progress: null })
    const { signal } = own
    const progress = (told: Progress): void => {
      if (isCurrent()) set({ state: 'running', since, progress: told })
    }
    client.request(method, params, { signal, progress }).then(
      (result) => {
        if (isCurrent()) set({ state: 'done', result, took: took() })
      },
      (error: unknown) => {
        if (!isCurrent()) return
        if (signal.aborted) set({ state: 'cancelled', took: took() })
        else set({ state: 'failed', error, took: took() })
      },
    )
  }
  // Whoever goes elsewhere waits for nothing here.
  useEffect(() => cancel, [])
  return { call, run, cancel }
}
