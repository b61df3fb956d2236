// /debug/pprof: profiles for `go tool pprof` (spec.md §4.2).

import type { ServerResponse } from 'node:http'
import type { EndpointTable } from '../endpoint-types.ts'
import { sendText } from '../admin-server.ts'
import type { CpuOptions } from './profiler.ts'

/** Whoever takes profiles; null when another one is being taken. */
export interface ProfileSource {
  cpu(options: CpuOptions): Promise<Buffer | null>
  heap(): Promise<Buffer | null>
}

/** Tells when nobody waits for the answer any more. */
export function abortWhenClosed(response: ServerResponse): AbortSignal {
  const left = new AbortController()
  response.once('close', () => left.abort())
  return left.signal
}

const SECONDS = { least: 1, most: 300, preset: 10 } as const
const FREQUENCY = { least: 1, most: 1000, preset: 100 } as const

/** §4.2: CPU profiles are not registered but on Linux. */
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

/** How long a profile of the processor takes. */
export function parseProfileSeconds(query: URLSearchParams): number {
  return parseInRange(query.get('seconds'), SECONDS)
}

/** What is not in the range is as if it had not been said (reference.md 7.1). */
function parseInRange(text: string | null, range: typeof SECONDS | typeof FREQUENCY): number {
  const value = text !== null && /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return value >= range.least && value <= range.most ? value : range.preset
}
