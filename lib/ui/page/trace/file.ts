// Traces that leave the page as files, and come back.

import { linesText, loadLines } from '../../../base/trace-reading/jsonl.ts'
import type { Loaded } from '../../../base/trace-reading/jsonl.ts'
import { bytesText } from '../../../base/trace-reading/amounts.ts'
import { fileName } from './traces.ts'
import type { KeptTrace } from './traces.ts'

const MAX_FILE_BYTES = 64 * 1024 * 1024
/** A browser may take its time to fetch what it saves. */
const SAVED_MS = 60_000

export function saveTrace(trace: KeptTrace): void {
  save(new Blob([linesText(trace.steps)], { type: 'application/jsonl' }), fileName(trace))
}

export function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), SAVED_MS)
}

/** With whatever the system has for that; saves it where there is nothing. Resolves to what happened, in words. */
export async function shareTrace(trace: KeptTrace): Promise<string> {
  const data = shareable(trace)
  if (data === null) {
    saveTrace(trace)
    return 'This browser shares no files: it was saved.'
  }
  try {
    await navigator.share(data)
    return 'Shared.'
  } catch (error) {
    return (error as Error).name === 'AbortError' ? '' : `Not shared: ${(error as Error).message}`
  }
}

/** Some browsers share nothing but what they know, such as plain text. */
function shareable(trace: KeptTrace): ShareData | null {
  if (typeof navigator.canShare !== 'function') return null
  const text = linesText(trace.steps)
  const name = fileName(trace)
  const files = [
    new File([text], name, { type: 'application/jsonl' }),
    new File([text], `${name}.txt`, { type: 'text/plain' }),
  ]
  const data = files.map((file) => ({ files: [file], title: name }))
  return data.find((one) => navigator.canShare(one)) ?? null
}

/** Rejects with words for people. */
export async function loadFile(file: File): Promise<Loaded> {
  if (file.size > MAX_FILE_BYTES)
    throw new Error(`${bytesText(file.size)} are too much: at most ${bytesText(MAX_FILE_BYTES)}`)
  return loadLines(await file.text())
}
