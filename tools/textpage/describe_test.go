package textpage

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("a", 64) + "\nsize 12\n"
	tar := make([]byte, 512)
	copy(tar[257:], "ustar\x0000")
	tar[0] = 0xff
	for _, test := range []struct {
		name, content string
		want          Description
	}{
		{"empty", "", Description{None, "utf-8", true, ""}},
		{"no line feed", "a\rb", Description{None, "utf-8", true, ""}},
		{"lf", "a\nb", Description{LF, "utf-8", true, ""}},
		{"crlf", "a\r\nb\r\n", Description{CRLF, "utf-8", true, ""}},
		{"mixed", "a\r\nb\n", Description{Mixed, "utf-8", true, ""}},
		{"bom", "\ufeffé\n", Description{LF, "utf-8-bom", true, ""}},
		{"NUL is text that was written so", "a\x00b\n", Description{LF, "utf-8", true, ""}},
		{"lfs", pointer, Description{LF, "utf-8", true, "Git LFS pointer"}},
		{"about lfs", "# " + pointer, Description{LF, "utf-8", true, ""}},
		{"latin-1", "caf\xe9\nx\n", Description{LF, "unknown-8bit", false, "text in an 8-bit encoding, not UTF-8"}},
		{"utf-16le", "\xff\xfea\x00\n\x00", Description{LF, "utf-16le", false, "UTF-16 text"}},
		{"utf-16be", "\xfe\xff\x00a", Description{None, "utf-16be", false, "UTF-16 text"}},
		{"bytes", "\x00\xff\x01\xfe", Description{None, "binary", false, "binary data"}},
		{"png", "\x89PNG\r\n\x1a\n\x00", Description{Mixed, "binary", false, "PNG image"}},
		{"gzip", "\x1f\x8b\x08\x00\xff", Description{None, "binary", false, "gzip data"}},
		{"elf", "\x7fELF\x02\x01\x01\x00\xff", Description{None, "binary", false, "ELF executable"}},
		{"tar", string(tar), Description{None, "binary", false, "tar archive"}},
		{"mp3", "ID3\x03\x00\xff", Description{None, "binary", false, "mpeg audio"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Describe([]byte(test.content)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// encoded returns an image in each format that the standard library writes.
func encoded(t *testing.T, width, height int) map[string][]byte {
	t.Helper()
	m := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White})
	m.SetColorIndex(0, 0, 1)
	animation := &gif.GIF{Image: []*image.Paletted{m, m}, Delay: []int{1, 1}}
	all := map[string][]byte{}
	for mime, write := range map[string]func(*bytes.Buffer) error{
		"image/png":  func(b *bytes.Buffer) error { return png.Encode(b, m) },
		"image/jpeg": func(b *bytes.Buffer) error { return jpeg.Encode(b, m, nil) },
		"image/gif":  func(b *bytes.Buffer) error { return gif.EncodeAll(b, animation) },
	} {
		var buf bytes.Buffer
		if err := write(&buf); err != nil {
			t.Fatal(err)
		}
		all[mime] = buf.Bytes()
	}
	return all
}

func TestImage(t *testing.T) {
	for mime, content := range encoded(t, 20, 10) {
		if got, ok := Image(content); got != mime || !ok {
			t.Errorf("got %q, %t, want %s", got, ok, mime)
		}
		for n := range content {
			if _, ok := Image(content[:n]); ok {
				t.Errorf("%s: the first %d of %d bytes count as an image", mime, n, len(content))
			}
		}
	}
	for _, content := range []string{"", "GIF8", "GIF89a", "\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "<svg xmlns='http://www.w3.org/2000/svg'/>", "BM\x00\x00", "RIFF\x04\x00\x00\x00WAVE"} {
		if mime, ok := Image([]byte(content)); ok {
			t.Errorf("%q counts as %s", content, mime)
		}
	}
}

// An image that would unfold to more than 64 megapixels is not even decoded.
func TestImageBomb(t *testing.T) {
	for _, test := range []struct {
		width, height int
		model         color.Model
		want          bool
	}{
		{8192, 8192, color.NRGBAModel, true}, {8193, 8192, color.NRGBAModel, false}, {1 << 31, 1 << 31, color.NRGBAModel, false},
		{8192, 4096, color.NRGBA64Model, true}, {8192, 8192, color.NRGBA64Model, false}, {0, 1, color.NRGBAModel, false},
	} {
		decoded := false
		config := func(io.Reader) (image.Config, error) {
			return image.Config{ColorModel: test.model, Width: test.width, Height: test.height}, nil
		}
		decode := func(io.Reader) (image.Image, error) { decoded = true; return nil, nil }
		if got := decodes(nil, config, decode); got != test.want || decoded != test.want {
			t.Errorf("%d x %d: got %t, decoded %t, want %t", test.width, test.height, got, decoded, test.want)
		}
	}
}

// What decodes to more bytes a pixel is held to fewer pixels.
func TestWeight(t *testing.T) {
	for _, test := range []struct {
		content string
		model   color.Model
		want    int64
	}{
		{"", color.NRGBAModel, 1}, {"", color.NRGBA64Model, 2}, {"", color.RGBA64Model, 2},
		{"\xff\xc0", color.YCbCrModel, 1}, {"\xff\xc2", color.YCbCrModel, 4}, {"\xff\xc2", color.NRGBAModel, 1},
	} {
		if got := weight([]byte(test.content), test.model); got != test.want {
			t.Errorf("%q, %v: got %d, want %d", test.content, test.model, got, test.want)
		}
	}
}

func TestImageWebP(t *testing.T) {
	files, err := filepath.Glob("testdata/*.webp")
	if err != nil || len(files) != 4 {
		t.Fatalf("got %v, %v, want 4 files", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if mime, ok := Image(content); mime != "image/webp" || !ok {
			t.Errorf("%s: got %q, %t", file, mime, ok)
		}
		for n := range content {
			if _, ok := Image(content[:n]); ok {
				t.Errorf("%s: the first %d of %d bytes count as an image", file, n, len(content))
			}
			// A container that was shortened with care still has a frame cut off,
			// but for an animation that is left with its first frame.
			const firstFrame = 96
			short := bytes.Clone(content[:n&^1])
			if len(short) >= 12 && len(short) != firstFrame {
				short[4], short[5] = byte(len(short)-8), 0
				if _, ok := Image(short); ok {
					t.Errorf("%s: %d bytes with a right length count as an image", file, len(short))
				}
			}
		}
		if _, ok := Image(append(content, 0, 0)); ok {
			t.Errorf("%s: bytes after the end are taken", file)
		}
		broken := bytes.Clone(content)
		for _, id := range []string{"VP8 ", "VP8L"} {
			if at := bytes.Index(broken, []byte(id)); at >= 0 {
				clear(broken[at+8 : at+8+10])
			}
		}
		if _, ok := Image(broken); ok {
			t.Errorf("%s: a frame without a header is taken", file)
		}
	}
}

func FuzzImage(f *testing.F) {
	files, err := filepath.Glob("testdata/*.webp")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 1<<12 {
			return
		}
		if mime, ok := Image(content); ok && mime == "" {
			t.Error("an image without a type")
		}
		Describe(content)
	})
}
