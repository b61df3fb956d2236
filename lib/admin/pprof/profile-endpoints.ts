// /debug/pprof: profiles for `go tool pprof` (spec.md §4.2).

import type { ServerResponse } from 'node:http'
import type { EndpointTable } from '../endpoint-types.ts'
import { sendText } from '../admin-server.ts'
import type { CpuOptions } from './profiler.ts'

/** Takes profiles; null while another one is being taken. */
export interface ProfileSource {
  cpu(options: CpuOptions): Promise<Buffer | null>
  heap(): Promise<Buffer | null>
}

/** Aborts when the connection of the response closes. */
export function abortWhenClosed(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  response.once('close', () => controller.abort())
  return controller.signal
}

const SECONDS = { min: 1, max: 300, default: 10 } as const
const FREQUENCY = { min: 1, max: 1000, default: 100 } as const

/** §4.2: CPU profiles exist on Linux only. */
export function createPprofEndpoints(
  source: ProfileSource,
  platform: NodeJS.Platform,
): EndpointTable {
  const heap: EndpointTable = {
    '/debug/pprof/heap': {
      GET: async (_request, response) => sendProfile(response, await source.heap()),
    },
  }
  if (platform !== 'linux') return heap
  return {
    '/debug/pprof/profile': {
      GET: async (_request, response, { searchParams }) => {
        const profile = await source.cpu({
          seconds: parseProfileSeconds(searchParams),
          frequency: parseInRange(searchParams.get('frequency'), FREQUENCY),
          signal: abortWhenClosed(response),
        })
        sendProfile(response, profile)
      },
    },
    ...heap,
  }
}

export function sendProfile(response: ServerResponse, profile: Buffer | null): void {
  if (profile === null) return sendText(response, 409, 'another profile is being taken: try again')
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-length': profile.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.end(profile)
}

/** The duration of a CPU profile. */
export function parseProfileSeconds(query: URLSearchParams): number {
  return parseInRange(query.get('seconds'), SECONDS)
}

/** A value out of range counts as missing (reference.md 7.1). */
function parseInRange(text: string | null, range: typeof SECONDS | typeof FREQUENCY): number {
  const value = text !== null && /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return value >= range.min && value <= range.max ? value : range.default
}
