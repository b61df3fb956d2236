// How clients are told of targets that are missing from an answer.

import type { Failure } from './gather.ts'

export const FAILED_TARGETS = 'gateway/failedTargets'

/** The `_meta` of a result that lacks some targets' part. */
export function failuresText(failures: readonly Failure[]): string {
  return JSON.stringify({ [FAILED_TARGETS]: failures })
}
