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

/** The parameters of a CPU profile (§4.2). */
const CPU_PARAMETERS = {
  seconds: { min: 1, max: 300, default: 10 },
  frequency: { min: 1, max: 1000, default: 100 },
} as const

type CpuParameter = keyof typeof CPU_PARAMETERS

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
        const numbers = parseCpuParameters(searchParams)
        if (typeof numbers === 'string') return sendText(response, 400, numbers)
        const signal = abortWhenClosed(response)
        sendProfile(response, await source.cpu({ ...numbers, signal }))
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

/** Returns the parameters of a CPU profile, or what is wrong with one of them. */
export function parseCpuParameters(query: URLSearchParams): Record<CpuParameter, number> | string {
  const seconds = parseCpuParameter(query, 'seconds')
  const frequency = parseCpuParameter(query, 'frequency')
  if (typeof seconds === 'string') return seconds
  return typeof frequency === 'string' ? frequency : { seconds, frequency }
}

function parseCpuParameter(query: URLSearchParams, name: CpuParameter): number | string {
  const { min, max, default: usual } = CPU_PARAMETERS[name]
  const text = query.get(name)
  if (text === null) return usual
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  return `invalid ${name}: got '${text.slice(0, MAX_SHOWN)}', expected a whole number from ${min} to ${max}`
}

/** Characters of an invalid value that its refusal repeats. */
const MAX_SHOWN = 64
