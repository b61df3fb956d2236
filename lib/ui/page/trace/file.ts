// Traces that leave the page as files, and come back.

import { linesText, loadLines } from '../../../trace-view/trace-file.ts'
import type { Loaded } from '../../../trace-view/trace-file.ts'
import { bytesText } from '../../../trace-view/amounts.ts'
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

/** Whether the browser hands files on to other programs. */
export function canShare(): boolean {
  return filesOf('trace.jsonl', '{}').some(isTaken)
}

/** With whatever the system has for that. Resolves to what happened, in words. */
export async function shareTrace(trace: KeptTrace): Promise<string> {
  const data = filesOf(fileName(trace), linesText(trace.steps)).find(isTaken)
  if (data === undefined) return 'This browser does not share it.'
  try {
    await navigator.share(data)
    return 'Shared.'
  } catch (error) {
    return (error as Error).name === 'AbortError' ? '' : `Not shared: ${(error as Error).message}`
  }
}

/** Some browsers share nothing but what they know, such as plain text. */
function filesOf(name: string, text: string): ShareData[] {
  const files = [
    new File([text], name, { type: 'application/jsonl' }),
    new File([text], `${name}.txt`, { type: 'text/plain' }),
  ]
  return files.map((file) => ({ files: [file], title: name }))
}

function isTaken(data: ShareData): boolean {
  return typeof navigator.canShare === 'function' && navigator.canShare(data)
}

/** Rejects with words for people. */
export async function loadFile(file: File): Promise<Loaded> {
  if (file.size > MAX_FILE_BYTES)
    throw new Error(`${bytesText(file.size)} are too much: at most ${bytesText(MAX_FILE_BYTES)}`)
  return loadLines(await file.text())
}
