// Models that stand for what can go wrong, for dry runs. Any other name is answered as it should be.
//
//   mock-error-429   429, with `retry-after`
//   mock-error-500   500
//   mock-no-usage    answers without a word on tokens
//   mock-slow        a chunk of a stream every 50 ms
//   mock-cut         dies in the middle of its answer

import type { Fault } from './types.ts'

/** What a client can learn of when it asks for models. */
export const MODELS = [
  'mock',
  'mock-error-429',
  'mock-error-500',
  'mock-no-usage',
  'mock-slow',
  'mock-cut',
]

const PACE_MS = 50

export function drillFault(model: string): Fault | null {
  if (model === 'mock-error-429') return { kind: 'fault', why: 'limited', param: model }
  if (model === 'mock-error-500') return { kind: 'fault', why: 'broken', param: '' }
  return null
}

export function tellsUsage(model: string): boolean {
  return model !== 'mock-no-usage'
}

/** Between two pieces of an answer; 0 for none. */
export function paceOf(model: string): number {
  return model === 'mock-slow' ? PACE_MS : 0
}

export function endingOf(model: string): 'end' | 'cut' {
  return model === 'mock-cut' ? 'cut' : 'end'
}
