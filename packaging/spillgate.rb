# Homebrew formula. `cargo xtask release` fills in the version and the checksums.
class Spillgate < Formula
  desc "Keeps oversized tool outputs out of a language model's context"
  homepage "https://github.com/spillgate/spillgate"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@BASE@/spillgate-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256_AARCH64_APPLE_DARWIN@"
    end
    on_intel do
      url "@BASE@/spillgate-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256_X86_64_APPLE_DARWIN@"
    end
  end

  on_linux do
    on_arm do
      url "@BASE@/spillgate-@VERSION@-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256_AARCH64_UNKNOWN_LINUX_GNU@"
    end
    on_intel do
      url "@BASE@/spillgate-@VERSION@-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256_X86_64_UNKNOWN_LINUX_GNU@"
    end
  end

  def install
    bin.install "spillgate"
    doc.install "README.md", "THIRD-PARTY.txt"
    generate_completions_from_executable(bin/"spillgate", "completions")
  end

  test do
    ENV["HOME"] = testpath
    assert_match "stored whole", shell_output("#{bin}/spillgate run -- seq 1 200000")
  end
end
