// How clients are told of targets that are missing from an answer.

import type { Failure } from './gather.ts'

/** The `_meta` of a result that lacks some targets' part. */
export function failuresText(failures: readonly Failure[]): string {
  return JSON.stringify({ 'gateway/failedTargets': failures })
}
