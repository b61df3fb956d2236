// The certificates of tls-pair.ts as files, for configurations.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CERT, EXPIRED_CERT, KEY, OTHER_CERT, OTHER_KEY } from './tls-pair.ts'

/** Removes the folder when closed. */
export class PemFiles {
  readonly #folder = mkdtempSync(join(tmpdir(), 'gateway-pem-'))
  readonly cert = this.#write('cert.pem', CERT)
  readonly key = this.#write('key.pem', KEY)
  readonly otherCert = this.#write('other-cert.pem', OTHER_CERT)
  readonly otherKey = this.#write('other-key.pem', OTHER_KEY)
  readonly expiredCert = this.#write('expired-cert.pem', EXPIRED_CERT)

  close(): void {
    rmSync(this.#folder, { recursive: true })
  }

  #write(name: string, text: string): string {
    const file = join(this.#folder, name)
    writeFileSync(file, text)
    return file
  }
}
